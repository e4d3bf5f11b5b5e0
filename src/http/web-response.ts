/** Replies as web-standard responses, with as few objects as can be. */

import { splitHeaders } from "../api/headers.ts";
import { type Body, bodyBytes, isAscii } from "../model/body.ts";
import type { Reply } from "../model/message.ts";

/** What replies of one status have in common: the lines that they begin with, and the same as `Headers`. */
interface Common {
  readonly status: number;
  readonly headers: Headers;
  readonly lines: string;
}

/** The first line that differs from reply to reply. */
const OWN_LINE = /^(?:Content-Length|X-)/m;

function commonOf({ status, headers: lines }: Reply): Common {
  const end = lines.search(OWN_LINE);
  const common = end < 0 ? lines : lines.slice(0, end);
  const headers = new Headers();
  const list = splitHeaders(common);
  for (let at = 0; at < list.length; at += 2) headers.append(list[at]!, list[at + 1]!);
  return { status, headers, lines: common };
}

/** Bytes that many responses share: a response copies an array, but refers to a Blob. */
const blobs = new WeakMap<Buffer, Blob>();

function blobOf(bytes: Buffer): Blob {
  let blob = blobs.get(bytes);
  if (blob === undefined) {
    blob = new Blob([bytes as Buffer<ArrayBuffer>]);
    blobs.set(bytes, blob);
  }
  return blob;
}

/** A body's bytes, in the form that costs least. */
function bodyOf(body: Body): string | Uint8Array<ArrayBuffer> | Blob {
  if (isAscii(body)) return body;
  return typeof body !== "string" && body.isShared ? blobOf(body.slices.bytes) : bodyBytes(body);
}

/** Makes a response of a reply. */
export type Responder = (reply: Reply, isHead: boolean) => Response;

/** Makes responses out of header lines. */
export function createResponder(): Responder {
  /** Common parts of the newest reply of each status. */
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
