/** Types of the rows that features add to tables: `src/features.ts` declares them as `settings`, `events` and `metrics`. */
// biome-ignore lint/suspicious/noEmptyInterface: another file adds to it.
export interface FeatureRows {}
