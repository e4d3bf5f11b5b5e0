/** Requests of one check of a URL, by node:http: `fetch` decodes bodies, and the hashes in a manifest are those of a file's own bytes. */

import { setMaxListeners } from "node:events";
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { SourceError } from "../../util/source-error.ts";
import { codeOf, systemErrorText } from "../../util/system-error.ts";
import { openAgents } from "./proxy.ts";

const MOST_REDIRECTS = 5;

/** Bytes that count as progress; what is less must come whole. */
const LEAST_BYTES = 16_384;

/** An error of a connection, TLS or a proxy in words. None of them quotes a header or the URL of a proxy. */
function wordsOf(error: unknown): string {
  // For several addresses of a host there is one error each.
  const found = (error instanceof AggregateError ? error.errors[0] : error) as Error;
  const { statusCode, reason } = found as { statusCode?: number; reason?: string };
  const code = codeOf(found);
  if (code === "ERR_PROXY_TUNNEL") return `the proxy answered ${statusCode || "what is no HTTP"}`;
  if (code?.startsWith("HPE_")) return `the answer is no HTTP: ${reason} (${code})`;
  // OpenSSL's messages contain locations in its source code; `reason`, or a part of the text, does not.
  const words = reason ?? /:SSL routines:[^:]*:([^:]+):/.exec(found.message)?.[1];
  if (words !== undefined) return `TLS: ${words}`;
  const [line = ""] = found.message.split(/\n|\. /);
  return systemErrorText(found) ?? (code === undefined ? line : `${line} (${code})`);
}

/** Sends a GET. @returns the answer, once its head is here @throws errors of the connection */
function send(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // A socket that is made with an aborted signal fails before anybody listens to it, which would end the process.
    options.signal!.throwIfAborted();
    const sent = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
    // A body may fail while nobody reads it: without a listener that would end the process.
    sent.once("response", (message) => resolve(message.on("error", () => {})));
    sent.on("error", reject);
    // Of an answer that switches protocols there is no other event.
    sent.once("close", () => reject(new Error("the connection ended without an answer")));
    // An agent that waits for a proxy's answer does not notice the signal.
    options.signal!.addEventListener("abort", reject, { once: true });
    sent.end();
  });
}

/** Whether an answer is a proxy's own: only the source has a certificate, and `proxy-agent` passes a refused tunnel's answer on. */
function isOfProxy({ protocol }: URL, { socket, statusCode }: IncomingMessage): boolean {
  const isPlain = socket instanceof Socket && !(socket instanceof TLSSocket);
  return statusCode === 407 || (protocol === "https:" && isPlain);
}

/** The target of a redirect. Errors do not quote it: it may hold a secret. */
function targetOf(from: URL, location = ""): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (to === undefined || !/^https?:$/.test(to.protocol))
    throw new Error("a redirect leads to no http: or https: URL");
  if (from.protocol === "https:" && to.protocol === "http:")
    throw new Error("a redirect leads out of https:");
  if (to.username !== "" || to.password !== "") throw new Error("a redirect holds a password");
  return to;
}

/** The head of an answer, and its body as it arrives. Both throw {@link SourceError} or the reason of the signal. */
export type Answer = Awaited<ReturnType<SourceClient["get"]>>;
export type SourceClient = Awaited<ReturnType<typeof openClient>>;

/**
 * Opens a client for one check. Close it, whatever happens.
 *
 * @param token only the origin of `base` receives it
 * @param progressMs time for the next part of a body, or for all before it
 * @throws {SourceError} when the proxy that the environment names cannot be used; the signal's reason
 */
export async function openClient(
  base: URL,
  token: string | undefined,
  progressMs: number,
  signal: AbortSignal,
) {
  const ending = new AbortController();
  // Each request adds one.
  setMaxListeners(0, ending.signal);
  const agents = await openAgents(ending.signal);
  signal.throwIfAborted();
  const leave = (): void => ending.abort(signal.reason);
  signal.addEventListener("abort", leave);
  const late = new SourceError(`${base.href}: no progress for ${progressMs / 1000} s`);
  const timer = setTimeout(() => ending.abort(late), progressMs);
  const failureOf = ({ href }: URL, error: unknown): unknown =>
    ending.signal.aborted ? ending.signal.reason : new SourceError(`${href}: ${wordsOf(error)}`);

  async function follow(url: URL, given: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    const headers: Record<string, string> = { ...given, "user-agent": "orrery" };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    for (let [target, redirects] = [url, 0]; redirects <= MOST_REDIRECTS; redirects++) {
      // A redirect back to the origin does not get it either: another host chose its URL.
      if (target.origin !== base.origin) delete headers.authorization;
      const agent = agents[target.protocol];
      // The timeout ends a connection to a proxy that does not answer; the signal does not.
      const options = { agent, headers, signal: ending.signal, timeout: progressMs };
      const message = await send(target, options).catch((error: unknown) => {
        // The server may have closed a kept connection while the request was on its way.
        if (codeOf(error) === "ECONNRESET") return send(target, options);
        throw error;
      });
      if (isOfProxy(target, message)) throw new Error(`the proxy answered ${message.statusCode}`);
      if (![301, 302, 303, 307, 308].includes(message.statusCode!)) return message;
      message.destroy();
      target = targetOf(target, message.headers.location);
    }
    throw new Error(`more than ${MOST_REDIRECTS} redirects`);
  }

  async function* chunksOf(url: URL, message: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    let bytes = 0;
    try {
      for await (const chunk of message) {
        bytes += chunk.length;
        if (bytes >= LEAST_BYTES) {
          bytes = 0;
          timer.refresh();
        }
        yield chunk;
      }
    } catch (error) {
      throw failureOf(url, error);
    }
  }

  return {
    /** Sends a GET. A body must be read to its end before the next request. */
    async get(url: URL, headers: Readonly<Record<string, string>>) {
      timer.refresh();
      const message = await follow(url, headers).catch((error: unknown) => {
        throw failureOf(url, error);
      });
      const header = (name: string): string | undefined => message.headers[name]?.toString();
      return { status: message.statusCode!, header, chunks: chunksOf(url, message) };
    },
    close(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      ending.abort();
    },
  };
}
