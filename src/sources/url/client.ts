/** Requests of one look at a source, by undici: `fetch` decodes bodies, and the hashes in a manifest are those of a file's own bytes. */

import { SourceError } from "../../util/source-error.ts";
import { codeOf, systemErrorText } from "../../util/system-error.ts";

const MOST_REDIRECTS = 5;

/** Bytes that count as progress; what is less must come whole. */
const LEAST_BYTES = 16_384;

/** An error of undici, the system or TLS in words. None of them quotes a header. */
function wordsOf(error: unknown): string {
  // For several addresses of a host there is one error each.
  const found = (error instanceof AggregateError ? error.errors[0] : error) as Error & { reason?: string };
  // OpenSSL's messages contain locations in its source code; `reason` does not.
  const words = found.reason === undefined ? systemErrorText(found) : `TLS: ${found.reason}`;
  return words ?? `${found.message.split(/\n|\. /)[0]} (${codeOf(found) ?? found.name})`;
}

/** The head of an answer, and its body as it arrives. Both throw {@link SourceError} or the reason of the signal. */
export type Answer = Awaited<ReturnType<SourceClient["get"]>>;
export type SourceClient = Awaited<ReturnType<typeof openClient>>;

/**
 * Opens a client for one look. Close it, whatever happens.
 *
 * @param token only the origin of `base` receives it
 * @param progressMs time for the next part of a body, or for all before it
 * @throws {SourceError} for a wrong URL of a proxy, without that URL, which may hold a password
 */
export async function openClient(
  base: URL,
  token: string | undefined,
  progressMs: number,
  signal: AbortSignal,
) {
  // Bun puts a module of its own in the place of the bare name.
  const { EnvHttpProxyAgent, interceptors, request } = (await import("undici/index.js")).default;
  const isTls = base.protocol === "https:";
  const agent = (() => {
    try {
      // Without the option, HTTP_PROXY would be used for https:, too.
      return new EnvHttpProxyAgent({ proxyTunnel: false, ...(isTls && { httpProxy: "" }) });
    } catch {
      throw new SourceError("HTTPS_PROXY or HTTP_PROXY is not the URL of a proxy");
    }
  })();
  const dispatcher = agent.compose(
    (dispatch) => (options, handler) => {
      if (isTls && !String(options.origin).startsWith("https:"))
        throw new Error("a redirect leads out of https:");
      return dispatch(options, handler);
    },
    interceptors.redirect({ maxRedirections: MOST_REDIRECTS }),
  );
  const ending = new AbortController();
  const leave = (): void => ending.abort(signal.reason);
  signal.addEventListener("abort", leave);
  const late = new SourceError(`${base.href}: no progress for ${progressMs / 1000} s`);
  const timer = setTimeout(() => ending.abort(late), progressMs);
  const failureOf = ({ href }: URL, error: unknown): unknown =>
    ending.signal.aborted ? ending.signal.reason : new SourceError(`${href}: ${wordsOf(error)}`);

  // undici notices an abort only once it is connected, and a silent proxy may keep it from that for minutes.
  const ended = new Promise<never>((_, reject) => {
    ending.signal.addEventListener("abort", () => reject(ending.signal.reason));
  });
  ended.catch(() => {});

  async function* chunksOf(url: URL, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    let bytes = 0;
    try {
      for await (const chunk of body) {
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
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const sent = { "user-agent": "orrery", ...authorization, ...headers };
      const options = { dispatcher, headers: sent, signal: ending.signal };
      const answer = await Promise.race([request(url, options), ended]).catch((error: unknown) => {
        throw failureOf(url, error);
      });
      // A body may fail while nobody reads it: without a listener that would end the process.
      answer.body.on("error", () => {});
      const header = (name: string): string | undefined => answer.headers[name]?.toString();
      return { status: answer.statusCode, header, chunks: chunksOf(url, answer.body) };
    },
    async close(): Promise<void> {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      await agent.destroy();
    },
  };
}
