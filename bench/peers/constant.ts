/**
 * The ceiling on Bun and Deno: the runtime's own server, which answers
 * everything with one prepared reply, made anew for each request as a program
 * has to.
 *
 *     constant.ts SNAPSHOT KEYS REPLY
 */

import { readFileSync } from "node:fs";
import { type RecordedReply, ready } from "./shared.ts";

const { status, headers, body } = JSON.parse(readFileSync(process.argv[4]!, "utf8")) as RecordedReply;

/** The runtimes' own servers, as far as they are used here. */
interface Runtimes {
  readonly Bun?: {
    readonly serve: (options: { hostname: string; port: number; fetch: () => Response }) => { url: URL };
  };
  readonly Deno?: {
    readonly serve: (
      options: { hostname: string; port: number; onListen: (address: { port: number }) => void },
      handler: () => Response,
    ) => unknown;
  };
}

const { Bun: bun, Deno: deno } = globalThis as typeof globalThis & Runtimes;

const head = new Headers();
for (let at = 0; at < headers.length; at += 2) {
  // Both add it themselves.
  if (headers[at]!.toLowerCase() !== "content-length") head.append(headers[at]!, headers[at + 1]!);
}
const init = { status, headers: head };
const bytes = Buffer.from(body, "latin1");
// A text is sent quickest where it is ASCII.
const sent = bytes.every((byte) => byte < 128) ? body : new Uint8Array(bytes);
const answer = (): Response => new Response(sent, init);

const place = { hostname: "127.0.0.1", port: 0 };
if (bun !== undefined) {
  ready(bun.serve({ ...place, fetch: answer }).url.origin);
} else {
  deno!.serve({ ...place, onListen: ({ port }) => ready(`http://127.0.0.1:${port}`) }, answer);
}
