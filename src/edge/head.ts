/** What the adapter reads of a request's head, and what it refuses of it. */

import type { IncomingMessage } from "node:http";
import type { FaultName } from "../fault.ts";

/** Most headers of a request. */
export const MAX_HEADERS = 64;

/** What one pass over the raw headers finds. Of two headers the first counts, of conditions all do. */
export interface Head {
  authorization: string | undefined;
  ifNoneMatch: string | undefined;
  ifMatch: string | undefined;
  hosts: number;
  hasBody: boolean;
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

/** Reads the few headers that matter; `request.headers` would build an object of them all. */
export function readHead(raw: readonly string[]): Head {
  const head: Head = {
    authorization: undefined,
    ifNoneMatch: undefined,
    ifMatch: undefined,
    hosts: 0,
    hasBody: false,
  };
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!;
    const value = raw[at + 1]!;
    // Lengths first: most headers are none of ours, and lower-casing them would cost.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "host") head.hosts++;
        break;
      case 8:
        if (name.toLowerCase() === "if-match") head.ifMatch = join(head.ifMatch, value);
        break;
      case 13: {
        const lower = name.toLowerCase();
        if (lower === "authorization") head.authorization ??= value;
        else if (lower === "if-none-match") head.ifNoneMatch = join(head.ifNoneMatch, value);
        break;
      }
      case 14:
        if (name.toLowerCase() === "content-length" && value !== "0") head.hasBody = true;
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") head.hasBody = true;
        break;
    }
  }
  return head;
}

/** What is wrong with the request itself, before anything of it is looked up. */
export function inspect(request: IncomingMessage, head: Head): FaultName | undefined {
  if (request.rawHeaders.length > MAX_HEADERS * 2) return "headTooLarge";
  if (request.httpVersion !== "1.1" && request.httpVersion !== "1.0") return "badRequest";
  if (head.hosts > 1 || (head.hosts === 0 && request.httpVersion === "1.1")) return "badRequest";
  if (request.url === "*" && request.method !== "OPTIONS") return "badRequest";
  if (head.hasBody && (request.method === "GET" || request.method === "HEAD")) return "bodyNotAllowed";
  return undefined;
}
