/** Messages between the main thread and the serving threads. */

import type { AddressInfo } from "node:net";
import type { MessagePort } from "node:worker_threads";
import type { KeyUse } from "../../auth/key-use.ts";
import type { KeyRing, TokenChanges } from "../../auth/keys.ts";
import type { Counters } from "../../auth/limit.ts";
import type { Sharing } from "../../http/port.ts";
import type { HttpLimits } from "../../http/server.ts";
import type { Observation, Observe } from "../../observe/events.ts";
import type { RequestCells } from "../../observe/metrics/counters.ts";
import type { SharedPending } from "../../search/pending.ts";
import type { SearchIndex } from "../../search/search.ts";
import type { Settings } from "../../settings/settings.ts";
import type { Store } from "../../store/generation.ts";
import { type AskPage, answerQuestions, Questions, type SearchAnswer } from "../similar/questions.ts";

/** A generation. */
export interface StoreToServe {
  readonly store: Store;
  readonly index: SearchIndex;
  /** Searches for similar names go over it; absent where there are none. */
  readonly similar: MessagePort | undefined;
}

/** The fields of a task that are equal for all threads. */
export interface CommonTask {
  readonly settings: Settings;
  /** Bounds of connections: shares of the process's, and others in place of their constants. */
  readonly limits: Partial<HttpLimits>;
  /** Whether it sends lines of the access log in place of an observation per request. */
  readonly writesAccess: boolean;
  /** Request counters in shared memory; when absent, nothing is counted. */
  readonly requestCells: RequestCells | undefined;
  readonly keyUse: readonly KeyUse[] | undefined;
  readonly cacheBytes: number;
}

export interface ServingTask extends CommonTask {
  /** May be 0 for the first thread; the others use the port that it got. */
  readonly port: number;
  readonly sharing: Sharing;
  /** In shared memory. */
  readonly counters: Counters;
  /** For `countInThread`; undefined where limits are not shared. */
  readonly shared: unknown;
  /** Its number among the running threads. */
  readonly thread: number;
  /** The searches that wait in all threads. */
  readonly pending: SharedPending;
  readonly keys: KeyRing["tokens"];
  readonly generation: StoreToServe;
}

export type ToServing =
  | ThreadRequest
  | { readonly kind: "generation"; readonly generation: StoreToServe }
  | { readonly kind: "keys"; readonly changes: TokenChanges }
  /** A batch of observations was taken. */
  | { readonly kind: "observed" };

/** A message that a serving thread confirms when it is done, before the next one is sent. */
export type ThreadRequest =
  | { readonly kind: "stop-listening" }
  /** Only when all threads have stopped listening. */
  | { readonly kind: "drain" };

export type FromServing =
  | { readonly kind: "listening"; readonly address: AddressInfo }
  /** To shared limits. */
  | { readonly kind: "shared"; readonly message: unknown }
  | ({ readonly kind: "observations" } & ObservationBatch)
  /** A request. */
  | { readonly kind: "done" };

/** With this many observations of requests in the waiting batch, another one is dropped. */
const MAX_REQUESTS = 8192;
/** The same for any other observation: these are few and matter more. */
const MAX_ALL = 2 * MAX_REQUESTS;
/** Most characters of access-log lines in a batch. Below the sink's limit, so that an empty sink can take a whole batch. */
export const MAX_LINES = 2_097_152;

/** Lines of the access log and observations for the main thread, and the number of dropped ones. */
export interface ObservationBatch {
  lines: string;
  readonly observations: Observation[];
  dropped: number;
}

/**
 * Collects observations in a serving thread. One batch is in transit at a time: until the main thread has taken it,
 * requests beyond a bound are counted instead of kept, so that a flood of them cannot fill the memory.
 */
export class BatchSender {
  readonly #send: (batch: ObservationBatch) => void;
  #batch: ObservationBatch = { lines: "", observations: [], dropped: 0 };
  /** Whether a batch is in transit, or scheduled. */
  #isSending = false;

  constructor(send: (batch: ObservationBatch) => void) {
    this.#send = send;
  }

  readonly observe: Observe = (observation) => {
    const most = observation.kind === "request" ? MAX_REQUESTS : MAX_ALL;
    if (this.#batch.observations.length < most) this.#batch.observations.push(observation);
    else this.#batch.dropped++;
    this.#schedule();
  };

  readonly writeAccess = (line: string): void => {
    if (this.#batch.lines.length < MAX_LINES) this.#batch.lines += line;
    else this.#batch.dropped++;
    this.#schedule();
  };

  /** Sends the waiting batch. To be called when the main thread has taken the one before, and at the end. */
  flush(): void {
    const batch = this.#batch;
    this.#isSending = batch.lines !== "" || batch.observations.length + batch.dropped > 0;
    if (!this.#isSending) return;
    this.#batch = { lines: "", observations: [], dropped: 0 };
    this.#send(batch);
  }

  #schedule(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    // All observations of one turn of the event loop go together.
    setImmediate(() => this.flush());
  }
}

export function takeBatch(
  { lines, observations, dropped }: ObservationBatch,
  observe: Observe,
  writeAccess?: (lines: string) => void,
): void {
  if (lines !== "") writeAccess?.(lines);
  for (const observation of observations) observe(observation);
  if (dropped > 0) observe({ kind: "log-lines-dropped", count: dropped });
}

/**
 * Asks the main thread for similar names of a generation, over a port of its own. The port is closed with the generation,
 * so that users of an old one need not be counted. After that nothing is found.
 */
export function askOver(port: MessagePort): Questions {
  const questions = new Questions(() => port.close());
  questions.sendTo(port);
  port.on("message", (answer: SearchAnswer) => questions.settle(answer));
  port.on("close", () => questions.giveBack());
  return questions;
}

/** Passes questions on to the similar search of a generation, until the other end is closed. */
export function passOn(ask: AskPage, port: MessagePort): void {
  let isClosed = false;
  port.on("close", () => {
    isClosed = true;
  });
  const send = (answer: SearchAnswer): void => port.postMessage(answer);
  port.on(
    "message",
    answerQuestions(ask, send, () => isClosed),
  );
}
