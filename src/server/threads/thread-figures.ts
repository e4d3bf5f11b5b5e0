/** Figures that a serving thread gives when it is asked. */

import type { CacheCounts } from "../../search/cache.ts";
import type { PageOf } from "../../store/generation.ts";
import type { EventLoopFigures } from "../../util/process/event-loop.ts";
import type { SearchName } from "../search/search-messages.ts";

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
