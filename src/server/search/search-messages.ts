/** Questions and answers of threads that search for each other: the same ones whichever two they are. */

import type { Caller, Found, PageOf } from "../../store/generation.ts";

/** Which of the two searches. */
export type SearchName = "users" | "worlds";

/** One search. */
export interface SearchRequest {
  readonly number: number;
  /** Slot of the caller's key; see {@link Caller}. */
  readonly key: number;
  readonly name: SearchName;
  readonly term: string;
  readonly page: PageOf;
  /** Whether similar names are asked for. */
  readonly similar?: true;
}

/** What came up at about the same time. */
export interface SearchBatch {
  readonly asked: readonly SearchRequest[];
  /** Numbers of earlier ones that nobody waits for any more; they get no answer. */
  readonly dropped: readonly number[];
}

/** What became of a search. */
export type SearchAnswer =
  | { readonly number: number; readonly found: Found }
  | { readonly number: number; readonly problem: string }
  /** Nobody here can do it: whoever asked is to. Only the main thread says so. */
  | { readonly number: number; readonly over: true };
