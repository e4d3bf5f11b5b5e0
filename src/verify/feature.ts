/** The settings of `orrery verify`. */

import { JSON_RESULT, MAX_SNAPSHOT_BYTES, type Setting } from "../settings/settings.ts";
import { OTHER_SERVER, REQUESTS_PER_HOUR, TOKEN_FILE } from "../upstream/settings.ts";

export const VERIFY_SETTINGS = [
  { ...MAX_SNAPSHOT_BYTES, commands: ["verify"] },
  { flag: "against", ...OTHER_SERVER, commands: ["verify"] },
  { ...TOKEN_FILE, commands: ["verify"] },
  { ...REQUESTS_PER_HOUR, commands: ["verify"] },
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
    max: 4_294_967_295,
    meaning: "Seed of the sample; the same seed asks the same of the same snapshot.",
    commands: ["verify"],
  },
  { ...JSON_RESULT, commands: ["verify"] },
] as const satisfies readonly Setting[];
