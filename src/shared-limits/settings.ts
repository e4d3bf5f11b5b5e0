/** The settings of shared limits. */

import type { Setting } from "../settings/settings.ts";

/** Their rows. */
export const SHARED_LIMITS_SETTINGS = [
  {
    flag: "shared-limits",
    after: "rate-window",
    kind: "text",
    value: "URL",
    meaning:
      "Share the limits of API keys with other replicas by a Valkey or Redis server (7 or newer) or cluster: `redis:`, " +
      "`rediss:` (TLS) or `unix:`. A password is better in `--shared-limits-password-file` or `ORRERY_SHARED_LIMITS`, " +
      "where other users of the machine do not see it.",
    commands: ["serve"],
  },
  {
    flag: "shared-limits-password-file",
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
