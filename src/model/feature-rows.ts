/** Types of the rows that features add to tables, by table: `src/features.ts` declares them. */
// biome-ignore lint/suspicious/noEmptyInterface: another file adds to it.
export interface FeatureRows {}
