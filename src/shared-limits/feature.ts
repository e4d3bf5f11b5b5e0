/** The settings, events and metrics of shared limits. */

import type { SharedLimits } from "../auth/shared.ts";
import { readGiven, whyUnread } from "../files/given.ts";
import { type EventRow, event } from "../observe/events.ts";
import type { Metric } from "../observe/metrics/table.ts";
import { type Setting, SettingError, type Settings } from "../settings/settings.ts";
import { problemWithRedisUrl, readRedisUrl } from "./redis-url.ts";
import { ReplicaLimits } from "./replica.ts";

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
] as const satisfies readonly Setting[];

export const SHARED_LIMITS_EVENTS = {
  "limits-away": event<{ server: string; problem: string }>({
    level: "error",
    text: "the server of shared limits cannot be asked, counting alone within this replica's share",
    problem: ({ server, problem }) =>
      `The server of shared limits ${server} cannot be asked: ${problem}. Requests are counted alone, within this replica's share.`,
    counts: { limitsAway: 1, limitsLosses: 1 },
    meaning:
      "The `server` of shared limits did not answer a question, and why (`problem`). The key of the question counts alone for a second. Logged once.",
  }),
  "limits-back": event<{ server: string; ms: number }>({
    level: "info",
    text: "the server of shared limits can be asked again",
    ends: "limits-away",
    counts: { limitsAway: -1 },
    meaning:
      "That `server` answers, and no question has failed for three seconds; `ms` milliseconds after the loss.",
  }),
} as const satisfies Record<string, EventRow<never>>;

export const SHARED_LIMITS_METRICS = {
  limitsAway: {
    name: "orrery_shared_limits_away",
    type: "gauge",
    help: "1 while the server of --shared-limits cannot be asked, else 0.",
    counted: [],
  },
  limitsLosses: {
    name: "orrery_shared_limits_losses_total",
    type: "counter",
    help: "Number of times that the server of --shared-limits went away.",
    counted: [],
  },
  limitsAsks: {
    name: "orrery_shared_limits_asks_total",
    type: "counter",
    labels: ["result"],
    help: "Questions to the server of --shared-limits: answered, or failed (no valid answer in time).",
    values: ({ asks, failures }) => ({ answered: asks - failures, failed: failures }),
  },
  limitsRequests: {
    name: "orrery_shared_limits_requests_total",
    type: "counter",
    labels: ["outcome"],
    help: "Requests that the server of --shared-limits could not count in time: alone (counted within this replica's share) or refused (beyond it).",
    values: ({ alone, refused }) => ({ alone, refused }),
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
}

async function readPassword(file: string): Promise<string> {
  const bad = (why: string): SettingError =>
    new SettingError("sharedLimitsPasswordFile", `: ${file}: ${why}`, false);
  const { bytes } = await readGiven(file).catch((error: unknown) => {
    throw bad(whyUnread(error) ?? String(error));
  });
  const [line = ""] = bytes
    .toString()
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/, 1);
  if (line === "") throw bad("the first line must be the password");
  return line;
}

/** @internal Undefined if limits are not shared. @throws {SettingError} if the password file cannot be used */
export async function shareLimits(settings: Settings): Promise<SharedLimits | undefined> {
  const { sharedLimits: url, sharedLimitsPasswordFile: file, replicas } = settings;
  if (url === undefined) return undefined;
  const target = readRedisUrl(url);
  const password = file === undefined ? target.password : await readPassword(file);
  return new ReplicaLimits({ target: { ...target, password }, replicas });
}
