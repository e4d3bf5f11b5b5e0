/** The settings of `orrery verify`. */

import { JSON_RESULT, MAX_SNAPSHOT_BYTES, type Setting } from "../settings/settings.ts";

/** Their rows. */
export const VERIFY_SETTINGS = [
  { ...MAX_SNAPSHOT_BYTES, commands: ["verify"] },
  {
    flag: "against",
    kind: "text",
    value: "URL",
    required: true,
    meaning:
      "The other server, such as `https://example.org`; `/api/public/v1` is added where it is missing.",
    commands: ["verify"],
  },
  {
    flag: "token-file",
    kind: "text",
    path: "read",
    value: "FILE",
    required: true,
    meaning: "File with an API key or CLI token of the other server.",
    commands: ["verify"],
  },
  {
    flag: "requests-per-hour",
    kind: "integer",
    value: "N",
    min: 1,
    max: 1_000_000_000,
    meaning:
      "Most requests in any hour, beside the limit that the other server announces. Default: that limit alone.",
    commands: ["verify"],
  },
  {
    flag: "samples",
    kind: "integer",
    value: "N",
    default: "200",
    min: 1,
    max: 1_000_000,
    meaning: "Requests whose answers are compared.",
    commands: ["verify"],
  },
  {
    flag: "seed",
    kind: "integer",
    value: "N",
    default: "1",
    min: 0,
    max: 4_294_967_295,
    meaning: "Seed of the sample; the same seed asks the same of the same snapshot.",
    commands: ["verify"],
  },
  { ...JSON_RESULT, commands: ["verify"] },
] as const satisfies readonly Setting[];
