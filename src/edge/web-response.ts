/** Replies as web-standard responses, with as few objects as can be. */

import { splitHeaders } from "../headers.ts";
import type { Reply } from "../message.ts";

/** What replies of one status have in common: the lines that they begin with, and the same as `Headers`. */
interface Common {
  readonly lines: string;
  readonly init: { readonly status: number; readonly headers: Headers };
}

/** The first line that differs from reply to reply. */
const OWN_LINE = /^(?:Content-Length|X-)/m;

function commonOf({ status, headers: lines }: Reply): Common {
  const end = lines.search(OWN_LINE);
  const common = end < 0 ? lines : lines.slice(0, end);
  const headers = new Headers();
  const list = splitHeaders(common);
  for (let at = 0; at < list.length; at += 2) headers.append(list[at]!, list[at + 1]!);
  return { lines: common, init: { status, headers } };
}

/** A body's bytes, in the form that costs least: a text of ASCII is its own UTF-8 and need not be copied. */
function bodyOf(body: string): string | Uint8Array<ArrayBuffer> {
  return Buffer.byteLength(body) === body.length ? body : Buffer.from(body, "latin1");
}

/**
 * Makes responses of replies.
 *
 * @param addsLength whether the runtime adds the `Content-Length` of a body
 */
export function createResponder(addsLength: boolean): (reply: Reply, isHead: boolean) => Response {
  /** Of the newest reply of each status. */
  const newest: Common[] = [];
  return (reply, isHead) => {
    const { status, headers: lines } = reply;
    let common = newest[status];
    if (common === undefined || !lines.startsWith(common.lines)) {
      common = commonOf(reply);
      newest[status] = common;
    }
    const hasBody = !isHead && reply.body !== "";
    const response = new Response(hasBody ? bodyOf(reply.body) : null, common.init);
    const own = splitHeaders(lines, common.lines.length);
    for (let at = 0; at < own.length; at += 2) {
      if (addsLength && hasBody && own[at] === "Content-Length") continue;
      response.headers.set(own[at]!, own[at + 1]!);
    }
    return response;
  };
}
