/** The outcome of a reload: `refused` when the new files could not be used and the old keys or rows stay. */
export type ReloadResult = "loaded" | "unchanged" | "refused";

/** The outcome of a reload of keys and snapshot. */
export interface Reloaded {
  /** `unchanged` also where keys are given directly, not as a file. */
  readonly keys: ReloadResult;
  readonly snapshot: ReloadResult;
  /** Id of the generation that is served now. */
  readonly generation: string;
  /** Why keys or snapshot were refused, one line each. */
  readonly problems: readonly string[];
}
