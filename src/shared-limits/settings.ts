/** The settings of shared limits. */

import type { Setting } from "../settings/settings.ts";
import { problemWithRedisUrl } from "./redis-url.ts";

/** @internal Their rows. */
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
  /** File with the password for it. */
  readonly sharedLimitsPasswordFile?: string | URL;
  /** Replicas that share the limits, which divide them while that server is away; 1 when absent. */
  readonly replicas?: number;
  /** What becomes of requests without a permit meanwhile: `"share"`, the default, or `"deny"`. */
  readonly limitsWhenAway?: "share" | "deny";
}
