/** Platform statistics. */

import { one } from "./envelope.ts";
import type { Call, Outcome } from "./route.ts";

/** Counts of everything visible. */
export function getStats({ store }: Call): Outcome {
  return one(store.platformStats);
}
