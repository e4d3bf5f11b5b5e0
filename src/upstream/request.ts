/**
 * One request to a source, with timeouts and redirects. Only the source's own origin receives the token.
 *
 * It uses node:http, as `fetch` decodes bodies: hashes in a manifest are those of a file's own bytes. Every error of a connection
 * becomes a {@link SourceError}; errors that the caller throws while it reads stay unchanged.
 */

import { type Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";
import { SourceError } from "../util/source-error.ts";
import { codeOf, systemErrorText } from "../util/system-error.ts";
import { agentFor, hasProxy } from "./proxy.ts";
import { retryAfterOf } from "./request-budget.ts";
import type { Timing } from "./retry.ts";

const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Transient refusals besides 5xx; all others are lasting. */
const PASSING: ReadonlySet<number> = new Set([408, 421, 425, 429]);

export interface SourceRequest {
  readonly url: URL;
  readonly token: string | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Statuses that the caller can use; all when absent. */
  readonly statuses?: readonly number[];
  /** Whether redirects are followed; true when absent. If not, they are returned as answers. */
  readonly followsRedirects?: boolean;
  /** The error that ends the exchange when the answer is incomplete after `timing.manifestMs`. */
  readonly late?: SourceError;
  readonly timing: Timing;
  readonly signal: AbortSignal;
}

/** The head of an accepted answer, and its body as it arrives. */
export interface SourceAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Read it once, and use each chunk before taking the next. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Replaces the sent token in a text of another server. Call it before the text is truncated. */
export function withoutToken(text: string, token: string): string {
  return token === "" ? text : text.replaceAll(token, "…");
}

/** An error of a connection in the words of the system or the runtime. Neither quotes a header. */
function networkProblem(error: unknown): string {
  // For several addresses of a host there is one error each.
  const found: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(found instanceof Error)) return "the connection failed";
  const code = codeOf(found);
  if (code?.startsWith("HPE_"))
    return `the answer is not HTTP: ${found.message.replace("Parse Error: ", "")} (${code})`;
  // OpenSSL's messages contain locations in its source code; `reason`, or a part of the text, does not.
  const { reason = /:SSL routines:[^:]*:([^:]+):/.exec(found.message)?.[1] } = found as { reason?: string };
  const words = reason === undefined ? systemErrorText(found) : undefined;
  if (words !== undefined) return words;
  const [line = ""] = (reason === undefined ? found.message : `TLS: ${reason}`).split("\n");
  return code === undefined || line.includes(code) ? line : `${line} (${code})`;
}

/** A refusal by the forward proxy itself. @param status undefined if it was no HTTP */
function proxyRefusal({ href }: URL, status: number | undefined): SourceError {
  const hint = status === 407 ? ": HTTPS_PROXY needs another user name or password" : "";
  const isLasting = status !== undefined && status < 500;
  return new SourceError(`${href}: the proxy answered ${status ?? "what is no HTTP"}${hint}`, { isLasting });
}

/** The error for an answer with a status that the caller cannot use. @param said the server's words, after a colon */
export function refusal(
  url: string,
  { status, headers }: Pick<SourceAnswer, "status" | "headers">,
  tokenName: string,
  said = "",
): SourceError {
  const hint = status === 401 || status === 403 ? ` (see ${tokenName})` : "";
  return new SourceError(`${url}: the server answered ${status}${said}${hint}`, {
    isLasting: status < 500 && !PASSING.has(status),
    retryAfterMs: retryAfterOf(headers),
    status,
  });
}

/** The target of a redirect. Messages show only its origin: the rest may be a secret. */
function targetOf(from: URL, asked: URL, headers: Headers): URL {
  const fail = (what: string): never => {
    throw new SourceError(`${asked.href}: ${what}`, { isLasting: true });
  };
  const location = headers.get("location");
  if (location === null || !URL.canParse(location, from.href)) return fail("a redirect leads nowhere");
  const to = new URL(location, from.href);
  if (!/^https?:$/.test(to.protocol)) return fail(`a redirect leads to a ${to.protocol} URL`);
  if (from.protocol === "https:" && to.protocol === "http:")
    return fail(`a redirect leads from https: to ${to.origin}`);
  if (to.username !== "" || to.password !== "") return fail(`a redirect to ${to.origin} holds a password`);
  return to;
}

/** Waits for a step of an exchange. @throws the reason that ended the exchange (`late` after `ms`), or a network error after `failure` */
async function inTime<Result>(
  step: Promise<Result>,
  ending: AbortController,
  ms: number,
  late: SourceError,
  failure: string,
): Promise<Result> {
  const { signal } = ending;
  const timer = setTimeout(() => ending.abort(late), ms);
  let leave = (): void => {};
  // A step may not notice the end: an agent that waits for a proxy's answer does not.
  const ended = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave);
  });
  try {
    return await Promise.race([step, ended]);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof SourceError ? error : new SourceError(`${failure}: ${networkProblem(error)}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}

interface Head extends Pick<SourceAnswer, "status" | "headers"> {
  readonly message: IncomingMessage;
}

interface Sending {
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** Ends a connection to a proxy that does not answer; the signal does not. */
  readonly timeout: number;
}

/** Sends a GET. @returns the answer, once its head is here */
function sendOnce(url: URL, agent: Agent, sending: Sending): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { signal } = sending;
    const options = { ...sending, agent, headers: Object.fromEntries(sending.headers) };
    const sent = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
    let isSettled = false;
    sent.once("response", (message) => {
      isSettled = true;
      resolve(message);
    });
    sent.on("error", (error) => {
      // After the answer it reaches those who read that.
      if (isSettled) return;
      isSettled = true;
      // The message of this one holds the URL of the proxy.
      if (codeOf(error) === "ERR_PROXY_TUNNEL") {
        reject(proxyRefusal(url, (error as { statusCode?: number }).statusCode));
        return;
      }
      // The server closed a kept connection while the request was on its way.
      const isStale = sent.reusedSocket && codeOf(error) === "ECONNRESET" && !signal.aborted;
      if (isStale) sendOnce(url, agent, sending).then(resolve, reject);
      else reject(error);
    });
    // Of an answer that switches protocols there is no other event.
    sent.once("close", () => {
      if (!isSettled) reject(new Error("it ended without an answer"));
    });
    sent.once("upgrade", (_, socket) => socket.destroy());
    sent.end();
  });
}

/** Sends a GET. @throws {SourceError} for an answer of the proxy; errors of the connection */
async function send(url: URL, sending: Sending): Promise<Head> {
  const message = await sendOnce(url, await agentFor(url), sending);
  // Nobody may be reading when the exchange is ended: without a listener that error would end the process.
  message.on("error", () => {});
  const status = message.statusCode!;
  // Only the server itself has a certificate: an agent passes on what a proxy says that does not connect to it.
  const isOfProxy =
    url.protocol === "https:" && hasProxy() && (message.socket as TLSSocket).encrypted !== true;
  if (isOfProxy || (status === 407 && hasProxy())) {
    message.destroy();
    throw proxyRefusal(url, status);
  }
  const received = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct))
    for (const value of values ?? []) received.append(name, value);
  return { status, headers: received, message };
}

async function follow(question: SourceRequest, ending: AbortController): Promise<Head> {
  const asked = question.url;
  const { headMs } = question.timing;
  let { url, token } = question;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const late = new SourceError(`${asked.href}: no answer within ${headMs / 1000} s`);
    // "identity" asks for the file's own bytes: a compressed transfer would change them.
    const headers = new Headers({ accept: "*/*", "accept-encoding": "identity", "user-agent": "orrery" });
    for (const [name, value] of Object.entries(question.headers))
      if (value !== undefined) headers.set(name, value);
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    const head = send(url, { headers, signal: ending.signal, timeout: headMs });
    const response = await inTime(head, ending, headMs, late, `${asked.href}: cannot be reached`);
    if (question.followsRedirects === false || !REDIRECTS.has(response.status)) return response;
    response.message.destroy();
    url = targetOf(url, asked, response.headers);
    // A redirect back to the origin does not get the token either: another host chose its URL.
    if (url.origin !== asked.origin) token = undefined;
  }
  throw new SourceError(`${asked.href}: more than ${MOST_REDIRECTS} redirects`, { isLasting: true });
}

async function* chunksOf(
  message: IncomingMessage,
  { url, timing }: SourceRequest,
  ending: AbortController,
): AsyncGenerator<Uint8Array, void> {
  const chunks: AsyncIterator<Buffer> = message[Symbol.asyncIterator]();
  const { progressMs, leastBytes } = timing;
  const slow = new SourceError(`${url.href}: less than ${leastBytes} bytes in ${progressMs / 1000} s`);
  let waited = 0;
  let bytes = 0;
  for (;;) {
    const began = performance.now();
    const failure = `${url.href}: the connection broke`;
    const next = await inTime(chunks.next(), ending, progressMs - waited, slow, failure);
    if (next.done === true) return;
    waited += performance.now() - began;
    bytes += next.value.length;
    if (bytes >= leastBytes) {
      waited = 0;
      bytes = 0;
    }
    yield next.value;
  }
}

/** Passes the answer to a request to `use`. @throws {SourceError} for another status or none; the signal's reason; errors of `use` */
export async function request<Result>(
  question: SourceRequest,
  use: (answer: SourceAnswer) => Promise<Result>,
): Promise<Result> {
  const { signal, late, timing, statuses } = question;
  signal.throwIfAborted();
  const ending = new AbortController();
  const leave = (): void => ending.abort(signal.reason);
  signal.addEventListener("abort", leave);
  const timer = late && setTimeout(() => ending.abort(late), timing.manifestMs);
  let isWhole = false;
  try {
    const response = await follow(question, ending);
    const { status, headers, message } = response;
    if (statuses?.includes(status) === false)
      throw refusal(question.url.href, response, "--snapshot-token-file");
    const result = await use({ status, headers, chunks: chunksOf(message, question, ending) });
    isWhole = true;
    // A body that nobody reads, such as the empty one of a 304, would keep its connection.
    message.resume();
    return result;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
    // A partly read body would keep its connection open.
    if (!isWhole) ending.abort();
  }
}

/** Reads a whole body. @throws `tooLarge` */
export async function readWhole(
  { chunks }: SourceAnswer,
  mostBytes: number,
  tooLarge: SourceError,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw tooLarge;
    // Copy: a chunk is valid only until the next one is taken.
    parts.push(Buffer.from(chunk));
  }
  return Buffer.concat(parts);
}
