/** The direct adapters: calls from the same program, and requests of the API's client, without HTTP objects. */

import { answer, type State } from "../api/answer.ts";
import { splitHeaders } from "../api/headers.ts";
import { bodyBytes } from "../model/body.ts";
import type { Ask, ChosenCaller, Reply } from "../model/message.ts";
import { problemWithNames } from "../util/distance.ts";

/** A request; only the target is required. */
export interface DirectAsk {
  /** Path and query, base path included. */
  readonly target: string;
  /** GET when absent. */
  readonly method?: string;
  /** The Authorization header's value, `Bearer` included. */
  readonly authorization?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly ifMatch?: string | undefined;
  /** Milliseconds since the epoch; the current time when absent. */
  readonly now?: number;
  /** Drops the request if aborted before its search is done. */
  readonly signal?: AbortSignal | undefined;
}

/** The reply to a {@link DirectAsk}. */
export interface DirectReply {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or "" without a body. */
  readonly body: string;
}

/**
 * Asks without HTTP. Rejects with the reason of an aborted signal, and with a
 * TypeError when the question has the wrong shape or an unknown field.
 */
export type DirectDoor = (ask: DirectAsk) => Promise<DirectReply>;

const FIELDS = ["target", "method", "authorization", "ifNoneMatch", "ifMatch", "now", "signal"] as const;
const TEXTS = ["method", "authorization", "ifNoneMatch", "ifMatch"] as const;

/** @throws {TypeError} naming the problem */
function checkAsk(ask: DirectAsk): void {
  if (typeof ask?.target !== "string")
    throw new TypeError("ask: target must be a string: a path with its query");
  const problem = problemWithNames(ask, FIELDS, "field");
  if (problem !== undefined) throw new TypeError(`ask: ${problem}`);
  for (const name of TEXTS) {
    const type = typeof ask[name];
    if (type !== "string" && type !== "undefined") throw new TypeError(`ask: ${name} must be a string`);
  }
  if (ask.now !== undefined && !Number.isFinite(ask.now)) throw new TypeError("ask: now must be a number");
  if (ask.signal !== undefined && !(ask.signal instanceof AbortSignal)) {
    throw new TypeError("ask: signal must be an AbortSignal");
  }
}

function byName(reply: Reply): Readonly<Record<string, string>> {
  const headers: Record<string, string> = Object.create(null);
  const list = splitHeaders(reply.headers);
  for (let at = 0; at < list.length; at += 2) headers[list[at]!.toLowerCase()] = list[at + 1]!;
  return headers;
}

function replyText({ body }: Reply): string {
  return bodyBytes(body).toString("utf8");
}

/** @internal Creates the adapter to a state. @param caller replaces the `authorization` if given */
export function createDirectAdapter(state: State, caller?: ChosenCaller): DirectDoor {
  return async (ask) => {
    checkAsk(ask);
    const { target, method = "GET", authorization, ifNoneMatch, ifMatch, now = Date.now(), signal } = ask;
    const isGone = signal && (() => signal.aborted);
    const reply = await answer(
      { method, target, authorization, caller, ifNoneMatch, ifMatch, now, isGone },
      state,
    );
    signal?.throwIfAborted();
    return { status: reply.status, headers: byName(reply), body: replyText(reply) };
  };
}

/** Origin of the URLs that the client requests; nothing is sent there. */
export const LOCAL_ORIGIN = "http://orrery.local";

interface LocalInit {
  readonly headers: { readonly authorization: string; readonly "if-match"?: string };
  readonly signal?: AbortSignal | null;
}

/** @internal Creates the `fetch` of a client. @param caller replaces the `authorization` if given */
export function createLocalFetch(state: State, caller: ChosenCaller | undefined): typeof globalThis.fetch {
  const local = async (url: string, { headers, signal }: LocalInit) => {
    const { authorization, "if-match": ifMatch } = headers;
    const ask: Ask = {
      method: "GET",
      target: url.slice(LOCAL_ORIGIN.length),
      authorization,
      caller,
      ifMatch,
      now: Date.now(),
      isGone: signal ? () => signal.aborted : undefined,
    };
    const reply = await answer(ask, state);
    // Most calls read no other header than the ETag.
    const get = (name: string): string | null =>
      (name === "etag" && reply.etag) || (byName(reply)[name.toLowerCase()] ?? null);
    return { status: reply.status, headers: { get }, text: async () => replyText(reply) };
  };
  return local as unknown as typeof globalThis.fetch;
}
