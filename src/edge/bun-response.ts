/** Replies as responses of Bun's server, which adds the length of a body by itself. */

import { type Body, bodyBytes, copyBody, isAscii } from "../body.ts";
import type { RateLimit } from "../message.ts";
import { createResponder, headersOf, type Init, type Responder } from "./web-response.ts";

/** What replies of one generation and status have in common, and the limit of the newest of them. */
interface OfGeneration extends Init {
  readonly etag: string;
  quota: RateLimit | undefined;
}

/** Brings the headers of a limit up to date; of one key only one of them changes. */
function setQuota(headers: Headers, before: RateLimit, quota: RateLimit): void {
  if (quota.limit !== before.limit) headers.set("X-RateLimit-Limit", String(quota.limit));
  if (quota.reset !== before.reset) headers.set("X-RateLimit-Reset", String(quota.reset));
  headers.set("X-RateLimit-Remaining", String(quota.remaining));
}

/** Longest body that is put together in {@link scratch}, in bytes. */
const SCRATCH_BYTES = 262_144;

/** Where bodies are put together. A response copies what it is given, so it is free again at once. */
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

function bodyOf(body: Body): string | Uint8Array<ArrayBuffer> {
  if (isAscii(body)) return body;
  if (body.length > SCRATCH_BYTES) return bodyBytes(body);
  copyBody(body, scratch);
  // Plain arrays are made quicker than Buffers.
  return new Uint8Array(scratch.buffer, 0, body.length);
}

/** Makes responses. Of a reply that is no error it mostly need not look at the header lines. */
export function createBunResponder(): Responder {
  const respond = createResponder();
  /** Of the newest reply of each status. */
  const newest: OfGeneration[] = [];
  return (reply, isHead) => {
    const { status, etag, quota } = reply;
    if (isHead || etag === undefined) return respond(reply, isHead);
    let known = newest[status];
    if (known === undefined || known.etag !== etag || (known.quota === undefined) !== (quota === undefined)) {
      known = { status, headers: headersOf(reply.headers), etag, quota };
      newest[status] = known;
    } else if (quota !== undefined) {
      setQuota(known.headers, known.quota!, quota);
      known.quota = quota;
    }
    return new Response(reply.body === "" ? null : bodyOf(reply.body), known);
  };
}
