/**
 * A reference: node:http that answers every request with one prepared reply, in the form that is fastest for its size.
 *
 *     bare.ts SNAPSHOT KEYS REPLY
 *
 * Both forms use node:http's public API; `bench/NOTES.md` has the measurement of the size from which a Buffer is faster.
 */

import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type RecordedReply, ready } from "./shared.ts";

const { status, headers, body, keepAliveTimeout } = JSON.parse(
  readFileSync(process.argv[4]!, "utf8"),
) as RecordedReply;
const head = headers as string[];
const bytes = Buffer.from(body, "latin1");

/** Ways to send the reply. */
const FORMS = {
  /** Head and body become one text, which is one write. From 16 KiB on node copies texts once more. */
  text: (_request, response) => {
    response.writeHead(status, head);
    response.end(body, "latin1");
  },
  /** Only the system copies the body; head and body are one write of two parts. */
  Buffer: (_request, response) => {
    response.writeHead(status, head);
    response.end(bytes);
  },
} satisfies Record<string, RequestListener>;

/** Bytes from which a Buffer is the faster form. */
const BUFFER_FROM = 8192;

const form = bytes.length < BUFFER_FROM ? "text" : "Buffer";
// Node 24: no stream for the body of a request that has none. The types of Node 20 do not know the option.
const options = { keepAliveTimeout, optimizeEmptyRequests: true };
const server = createServer(options, FORMS[form]);
server.listen(0, "127.0.0.1", () =>
  ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, process.pid, form),
);
