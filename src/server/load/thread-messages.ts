/** What the serving thread and a generation's thread say to each other, and that to one which helps it: it says the index. */

import type { SearchIndex } from "../../search/search.ts";
import type { Loaded, Refused } from "../../snapshot/load.ts";
import type { Store } from "../../store/generation.ts";
import type { SearchAnswer } from "../search/search-messages.ts";
import type { Serving } from "./loader.ts";

/** What a thread is started for: a folder to load, an index whose search died with its thread, or worlds to index. */
export type Task =
  | {
      readonly kind: "load";
      readonly folder: string;
      readonly maxBytes: number | undefined;
      readonly keepHiddenIds: boolean;
      readonly cacheBytes: number;
      /** Whether anybody wants to be told how much was read. */
      readonly tellsProgress: boolean;
      /** Of more users and worlds than these the worlds are indexed by another thread. */
      readonly mostAlone: number;
      /** What is being served, to be used again; the thread lets go of it when it has loaded. */
      before: Serving | undefined;
    }
  | { readonly kind: "search"; readonly index: SearchIndex; readonly cacheBytes: number }
  | { readonly kind: "index-worlds"; readonly store: Store };

/** From a generation's thread. */
export type ThreadMessage =
  | { readonly kind: "progress"; readonly share: number }
  | { readonly kind: "refused"; readonly refused: Refused }
  /** Of an index that was handed in, `loaded` is undefined. */
  | {
      readonly kind: "ready";
      readonly loaded: Loaded | undefined;
      /** The index, but for parts of the one before that are used again. */
      readonly made: Partial<SearchIndex>;
      readonly indexMs: number;
    }
  | { readonly kind: "answers"; readonly answers: readonly SearchAnswer[] };
