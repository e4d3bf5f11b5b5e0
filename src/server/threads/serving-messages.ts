/** What the main thread and the threads that serve say to each other, and the figures that these give. */

import type { AddressInfo } from "node:net";
import type { MessagePort } from "node:worker_threads";
import type { KeyUse } from "../../auth/key-use.ts";
import type { KeyRing } from "../../auth/keys.ts";
import type { Counters } from "../../auth/limit.ts";
import type { Sharing } from "../../http/port.ts";
import type { HttpOptions } from "../../http/server.ts";
import type { RequestCells } from "../../observe/metrics/counters.ts";
import type { CacheCounts } from "../../search/cache.ts";
import type { SharedPending } from "../../search/schedule/pending.ts";
import type { SearchIndex } from "../../search/search.ts";
import type { Settings } from "../../settings/settings.ts";
import type { PageOf, Store } from "../../store/generation.ts";
import type { EventLoopFigures } from "../../util/process/event-loop.ts";
import type { SearchName } from "../search/questions.ts";
import type { ObservationBatch } from "./observation-batches.ts";

/** A store, what its searches run over, and where those are asked for that take long. */
export interface StoreToServe {
  readonly questions: MessagePort;
  readonly store: Store;
  readonly index: SearchIndex;
  /** Whether names that are similar are searched for, too. */
  readonly hasSimilar: boolean;
}

/** What a key ring is made of; the ring itself stays in its thread. */
export type SentKeys = Pick<KeyRing, "byHash" | "previous">;

/** What a serving thread is started with. */
export interface ServingTask {
  readonly settings: Settings;
  /** May be 0 for the first thread; the others take the one it got. */
  readonly port: number;
  readonly sharing: Sharing;
  readonly http: HttpOptions;
  /** Whether it sends lines of the access log, not an observation a request. */
  readonly writesAccess: boolean;
  /** Where requests are counted, in shared memory; when absent nothing is, and nobody asks for its figures. */
  readonly requestCells: RequestCells | undefined;
  /** Where the requests of each key are counted, by thread, likewise. */
  readonly keyUse: readonly KeyUse[] | undefined;
  /** Memory for search results. */
  readonly cacheBytes: number;
  /** In shared memory. */
  readonly counters: Counters;
  /** What it counts with where limits are shared; undefined where they are not. */
  readonly shared: unknown;
  /** Its number among the running threads. */
  readonly thread: number;
  /** The searches that wait in all threads. */
  readonly pending: SharedPending;
  readonly keys: SentKeys;
  readonly generation: StoreToServe;
}

/** To a serving thread. */
export type ToServing =
  | { readonly kind: "tell"; readonly number: number; readonly asked: CacheQuestion | undefined }
  | { readonly kind: "keys"; readonly keys: SentKeys }
  | { readonly kind: "generation"; readonly generation: StoreToServe }
  /** What shared limits say to it. */
  | { readonly kind: "shared"; readonly message: unknown }
  /** A batch of observations was taken. */
  | { readonly kind: "observed" }
  | { readonly kind: "stop-listening" }
  /** Only when all have stopped listening. */
  | { readonly kind: "drain" };

/** From a serving thread. */
export type FromServing =
  | { readonly kind: "listening"; readonly address: AddressInfo }
  | { readonly kind: "not-listening"; readonly code: string; readonly message: string }
  | { readonly kind: "stopped-listening" }
  /** To shared limits. */
  | { readonly kind: "shared"; readonly message: unknown }
  | ({ readonly kind: "observations" } & ObservationBatch)
  | { readonly kind: "told"; readonly number: number; readonly figures: ThreadFigures }
  | { readonly kind: "drained" };

/** A page of a search that a cache may hold. */
export interface CacheQuestion {
  readonly table: SearchName;
  /** Folded. */
  readonly term: string;
  readonly page: PageOf;
}

/** Figures of one thread. */
export interface ThreadFigures {
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly eventLoop: EventLoopFigures;
  /** What became of the searches of the generation that is served. */
  readonly searches: CacheCounts;
  /** Whether its cache holds what was asked about; false when nothing was. */
  readonly holds: boolean;
}

/** Figures of the calling thread. */
export function figuresOfThread(
  eventLoop: EventLoopFigures,
  searches: CacheCounts,
  holds: boolean,
): ThreadFigures {
  const { heapUsed, heapTotal } = process.memoryUsage();
  return { heapUsedBytes: heapUsed, heapTotalBytes: heapTotal, eventLoop, searches, holds };
}
