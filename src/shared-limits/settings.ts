/** The settings, events and metrics of shared limits, and the plan made from settings. */

import type { SharedLimitsPlan } from "../auth/shared.ts";
import { readGiven, whyUnread } from "../files/given.ts";
import { type EventRow, event } from "../observe/events.ts";
import type { Metric } from "../observe/metrics/table.ts";
import { type Setting, SettingError, type Settings } from "../settings/settings.ts";
import type { SharedLimitsSettings } from "./keep-shared.ts";
import { problemWithRedisUrl, readRedisUrl } from "./redis-url.ts";
import { ServersAway } from "./servers-away.ts";

/** @internal */
export const SHARED_LIMITS_SETTINGS = [
  {
    flag: "shared-limits",
    isOption: true,
    after: "rate-window",
    kind: "text",
    value: "URL",
    isSecret: true,
    problem: problemWithRedisUrl,
    meaning:
      "Share the limits of API keys with other replicas by a Valkey or Redis server (7 or newer) or cluster: `redis:`, " +
      "`rediss:` (TLS) or `unix:`. A password is better in `--shared-limits-password-file` or `ORRERY_SHARED_LIMITS`, " +
      "where other users of the machine do not see it.",
    commands: ["serve"],
  },
  {
    flag: "shared-limits-password-file",
    isOption: true,
    after: "rate-window",
    kind: "text",
    needs: "shared-limits",
    value: "FILE",
    meaning: "File with the password for `--shared-limits`.",
    commands: ["serve"],
  },
  {
    flag: "replicas",
    isOption: true,
    after: "rate-window",
    kind: "integer",
    needs: "shared-limits",
    value: "N",
    default: "1",
    min: 1,
    max: 1_000_000,
    meaning: "Replicas that share the limits; each counts within its share while `--shared-limits` is away.",
    commands: ["serve"],
  },
  {
    flag: "limits-when-away",
    isOption: true,
    after: "rate-window",
    kind: "choice",
    needs: "shared-limits",
    choices: ["share", "deny"],
    default: "share",
    meaning:
      "Treatment of requests without a permit while `--shared-limits` is away: counted within this " +
      "replica's share, or refused with 429.",
    commands: ["serve"],
  },
] as const satisfies readonly Setting[];

export const SHARED_LIMITS_EVENTS = {
  "limits-away": event<{
    server: string;
    problem: string;
    /** Whether requests are counted alone meanwhile, not refused. */
    alone: boolean;
  }>({
    level: "error",
    text: ({ alone }) =>
      alone
        ? "the server of shared limits cannot be asked, counting alone within this replica's share"
        : "the server of shared limits cannot be asked, refusing requests without a permit",
    counts: { limitsAway: 1, limitsLosses: 1 },
    meaning:
      "The `server` of shared limits cannot be asked, and why (`problem`); `alone` says whether requests pass within this replica's share or are refused without a permit. Logged once.",
  }),
  "limits-back": event<{ server: string; ms: number }>({
    level: "info",
    text: "the server of shared limits can be asked again",
    counts: { limitsAway: -1 },
    meaning: "That `server` can be asked again, after `ms` milliseconds.",
  }),
} as const satisfies Record<string, EventRow<never>>;

export const SHARED_LIMITS_METRICS = {
  limitsAway: {
    name: "orrery_shared_limits_away",
    type: "gauge",
    help: "Servers of --shared-limits that cannot be asked; several only with a cluster.",
    counted: [],
  },
  limitsLosses: {
    name: "orrery_shared_limits_losses_total",
    type: "counter",
    help: "Number of times that a server of --shared-limits went away.",
    counted: [],
  },
  limitsAsks: {
    name: "orrery_shared_limits_asks_total",
    type: "counter",
    labels: ["result"],
    help: "Questions to the servers of --shared-limits: answered, or failed (no valid answer in time).",
    values: ({ asks, failures }) => ({ answered: asks - failures, failed: failures }),
  },
  limitsRequests: {
    name: "orrery_shared_limits_requests_total",
    type: "counter",
    labels: ["outcome"],
    help: "Requests that could not be counted at once with --shared-limits: waited (for an answer); while it was away: alone (let through without a permit) or refused.",
    values: ({ waited, alone, refused }) => ({ waited, alone, refused }),
  },
} as const satisfies Record<string, Metric>;

/** Options of the library for shared limits. */
export interface SharedLimitsOptions {
  /**
   * Share the limits of API keys with other replicas by a Valkey or Redis server: a `redis:`, `rediss:` or `unix:` URL.
   * Needs the package `@redis/client`. Not shared when absent.
   */
  readonly sharedLimits?: string;
  /** File with the password for that server. */
  readonly sharedLimitsPasswordFile?: string | URL;
  /** Replicas that share the limits, which divide them while that server is away; 1 when absent. */
  readonly replicas?: number;
  /** Requests without a permit meanwhile are counted within this replica's share (`"share"`, the default) or refused (`"deny"`). */
  readonly limitsWhenAway?: "share" | "deny";
}

async function readPassword(file: string): Promise<string> {
  const { bytes } = await readGiven(file).catch((error: unknown) => {
    throw badPasswordFile(file, whyUnread(error) ?? String(error));
  });
  const [line = ""] = bytes
    .toString()
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/, 1);
  if (line === "") throw badPasswordFile(file, "the first line must be the password");
  return line;
}

function badPasswordFile(file: string, why: string): SettingError {
  return new SettingError("sharedLimitsPasswordFile", `: ${file}: ${why}`, false);
}

/** @internal The plan of given settings; loads the feature when limits are opened. */
export function planOf(settings: SharedLimitsSettings): SharedLimitsPlan {
  const { replicas, denies } = settings;
  const reachability = new ServersAway(!denies);
  return {
    replicas,
    denies,
    reachability,
    async open(counters, observe) {
      reachability.observe = observe;
      const { keepSharedLimits } = await import("./keep-shared.ts");
      return keepSharedLimits(settings, counters, reachability);
    },
  };
}

/**
 * @internal Undefined if limits are not shared. @throws {SettingError} if the password file cannot be used
 */
export async function shareLimits(settings: Settings): Promise<SharedLimitsPlan | undefined> {
  const { sharedLimits: url, sharedLimitsPasswordFile: file, replicas, limitsWhenAway } = settings;
  if (url === undefined) return undefined;
  const target = readRedisUrl(url);
  const password = file === undefined ? target.password : await readPassword(file);
  return planOf({ target: { ...target, password }, replicas, denies: limitsWhenAway === "deny" });
}
