/** Similar search as a feature: its setting, its events, and how it is opened. */

import { type EventRow, event } from "../observe/events.ts";
import type { SimilarGiven, SimilarSearching } from "../server/search/similar.ts";
import type { Setting, Settings } from "../settings/settings.ts";

/** @internal The rows of the settings. */
export const SIMILAR_SETTINGS = [
  {
    flag: "similar",
    isOption: true,
    after: "max-pending-searches",
    kind: "flag",
    meaning:
      "Answer searches with `match=similar` by names that may be misspelt. Takes memory and a thread that indexes " +
      "all names after every load.",
  },
] as const satisfies readonly Setting[];

/** @internal Entry point of the thread. */
export const SIMILAR_THREAD = "similar/similar-thread";

export const SIMILAR_EVENTS = {
  "similar-ready": event<{ generation: string; names: number; ms: number }>({
    level: "info",
    text: "similar search ready",
    meaning: "Similar search (`--similar on`) has indexed the `names` of a generation.",
  }),
  "similar-failed": event<{
    generation: string;
    problem: string;
    /** Delay until it is tried again; with the next generation if absent. */
    retryMs?: number;
  }>({
    level: "error",
    text: "similar search cannot be indexed, answering as the exact search does",
    meaning:
      "Names cannot be indexed, and why; the exact search answers instead. The next attempt is after `retryMs`, or with the next generation.",
  }),
} as const satisfies Record<string, EventRow<never>>;

/** Options of the library for similar search. */
export interface SimilarOption {
  /**
   * Answer searches with `match=similar` by names that may be misspelt; they are indexed in the background
   * after every load. False when absent.
   */
  readonly similar?: boolean;
}

/** @internal Opens similar search; undefined where it is turned off. */
export async function openSimilarSearching(
  { similar }: Pick<Settings, "similar">,
  given: SimilarGiven,
): Promise<SimilarSearching | undefined> {
  // Imported on demand, to start sooner without it.
  return similar ? (await import("./searching.ts")).createSimilarSearching(given, SIMILAR_THREAD) : undefined;
}
