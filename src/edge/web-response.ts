/** Replies as web-standard responses, with as few objects as can be. */

import { type Body, bodyBytes } from "../body.ts";
import { splitHeaders } from "../headers.ts";
import type { RateLimit, Reply } from "../message.ts";

/** Headers and status of a response, which copies them. */
interface Init {
  readonly status: number;
  readonly headers: Headers;
}

/** What replies of one status have in common: the lines that they begin with, and the same as `Headers`. */
interface Common extends Init {
  readonly lines: string;
}

/** What replies of one generation and status have in common, and the limit of the newest of them. */
interface OfGeneration extends Init {
  readonly etag: string;
  quota: RateLimit | undefined;
}

/** The first line that differs from reply to reply. */
const OWN_LINE = /^(?:Content-Length|X-)/m;

const LENGTH = "Content-Length";

function headersOf(lines: string): Headers {
  const headers = new Headers();
  const list = splitHeaders(lines);
  for (let at = 0; at < list.length; at += 2) {
    if (list[at] !== LENGTH) headers.append(list[at]!, list[at + 1]!);
  }
  return headers;
}

function commonOf({ status, headers: lines }: Reply): Common {
  const end = lines.search(OWN_LINE);
  const common = end < 0 ? lines : lines.slice(0, end);
  return { status, headers: headersOf(common), lines: common };
}

/** Brings the headers of a limit up to date; of one key only one of them changes. */
function setQuota(headers: Headers, before: RateLimit, quota: RateLimit): void {
  if (quota.limit !== before.limit) headers.set("X-RateLimit-Limit", String(quota.limit));
  if (quota.reset !== before.reset) headers.set("X-RateLimit-Reset", String(quota.reset));
  headers.set("X-RateLimit-Remaining", String(quota.remaining));
}

/** A body's bytes, in the form that costs least: a text of ASCII is its own UTF-8 and need not be copied. */
function bodyOf(body: Body): string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" && Buffer.byteLength(body) === body.length ? body : bodyBytes(body);
}

/** Makes a response of a reply. */
export type Responder = (reply: Reply, isHead: boolean) => Response;

/** Makes responses out of header lines. */
export function createResponder(): Responder {
  /** Of the newest reply of each status. */
  const newest: Common[] = [];
  return (reply, isHead) => {
    const { status, headers: lines } = reply;
    let common = newest[status];
    if (common === undefined || !lines.startsWith(common.lines)) {
      common = commonOf(reply);
      newest[status] = common;
    }
    const response = new Response(isHead || reply.body === "" ? null : bodyOf(reply.body), common);
    const own = splitHeaders(lines, common.lines.length);
    for (let at = 0; at < own.length; at += 2) response.headers.set(own[at]!, own[at + 1]!);
    return response;
  };
}

/**
 * Makes responses for a runtime that adds the length of a body by itself. Of a
 * reply that is no error it mostly need not look at the header lines.
 */
export function createQuickResponder(): Responder {
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
