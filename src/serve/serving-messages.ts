/** What the main thread and the threads that serve say to each other. */

import type { AddressInfo } from "node:net";
import type { Key } from "../gate/keys.ts";
import type { Counters } from "../gate/limit.ts";
import type { Prefixes } from "../gate/token.ts";
import type { SearchIndex } from "../search/search.ts";
import type { Found, PageOf, Store } from "../store/generation.ts";
import type { HttpLimits } from "./http.ts";
import type { ObservationBatch } from "./observation-batches.ts";
import type { Sharing } from "./port.ts";
import type { SearchName } from "./thread-messages.ts";

/** A store, what its searches run over, and the number by which those are asked for that take long. */
export interface NumberedStore {
  readonly number: number;
  readonly store: Store;
  readonly index: SearchIndex;
}

/** What a serving thread is started with. */
export interface ServingTask {
  readonly host: string;
  /** Of the first thread it may be 0; the others take the one it got. */
  readonly port: number;
  readonly sharing: Sharing;
  readonly http: HttpLimits;
  readonly prefixes: Prefixes;
  readonly rateLimit: number;
  readonly cors: boolean;
  readonly accessLog: boolean;
  /** Memory for search results. */
  readonly cacheBytes: number;
  /** In shared memory. */
  readonly counters: Counters;
  readonly keys: ReadonlyMap<string, Key>;
  readonly generation: NumberedStore;
}

/** To a serving thread. */
export type ToServing =
  | { readonly kind: "keys"; readonly keys: ReadonlyMap<string, Key> }
  | { readonly kind: "generation"; readonly generation: NumberedStore }
  /** Without `found` the generation is gone, and with it who searched it. */
  | { readonly kind: "found"; readonly question: number; readonly found: Found | undefined }
  | { readonly kind: "failed"; readonly question: number; readonly message: string }
  | { readonly kind: "stop-listening" }
  /** Only when all have stopped listening. */
  /** A batch of observations was taken. */
  | { readonly kind: "observed" }
  | { readonly kind: "drain" };

/** A search that a serving thread asks for. */
export interface Question {
  readonly question: number;
  /** Number of the store that the rows are to be of. */
  readonly generation: number;
  readonly name: SearchName;
  readonly term: string;
  readonly page: PageOf;
}

/** From a serving thread. */
export type FromServing =
  | { readonly kind: "listening"; readonly address: AddressInfo }
  | { readonly kind: "not-listening"; readonly code: string; readonly message: string }
  /** No new request asks anything of the generations before this one. */
  | { readonly kind: "taken"; readonly generation: number }
  | ({ readonly kind: "search" } & Question)
  | { readonly kind: "stopped-listening" }
  | ({ readonly kind: "observations" } & ObservationBatch)
  | { readonly kind: "drained" };
