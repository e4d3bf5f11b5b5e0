/** The settings of shared limits, and the plan made from them. */

import { readFile } from "node:fs/promises";
import type { SharedLimitsPlan } from "../auth/shared.ts";
import { type Setting, SettingError, type Settings } from "../settings/settings.ts";
import { systemErrorText } from "../util/system-error.ts";
import type { SharedLimitsSettings } from "./keep-shared.ts";
import { problemWithRedisUrl, readRedisUrl } from "./redis-url.ts";

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
    path: "read",
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
      "What becomes of requests that no permit is left for while `--shared-limits` is away: counted within this " +
      "replica's share, or refused with 429.",
    commands: ["serve"],
  },
] as const satisfies readonly Setting[];

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
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw badPasswordFile(file, `cannot be read: ${systemErrorText(error) ?? String(error)}`);
  }
  const [line = ""] = text.split(/\r?\n/, 1);
  if (line === "") throw badPasswordFile(file, "the first line must be the password");
  return line;
}

function badPasswordFile(file: string, why: string): SettingError {
  return new SettingError("sharedLimitsPasswordFile", `: ${file}: ${why}`, false);
}

/** @internal The plan of given settings; loads the feature when limits are opened. */
export function planOf(settings: SharedLimitsSettings): SharedLimitsPlan {
  const { replicas, denies } = settings;
  return {
    replicas,
    denies,
    open: async (counters, observe) =>
      (await import("./keep-shared.ts")).keepSharedLimits(settings, counters, observe),
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
