/**
 * The ceiling: node:http that writes one prepared reply to whatever it is
 * asked. What a server of ours costs above this is its own doing.
 *
 *     bare.ts SNAPSHOT KEYS REPLY
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type RecordedReply, ready } from "./shared.ts";

const { status, headers, body, keepAliveTimeout } = JSON.parse(
  readFileSync(process.argv[4]!, "utf8"),
) as RecordedReply;

const server = createServer({ keepAliveTimeout }, (_request, response) => {
  response.writeHead(status, headers as string[]);
  response.end(body, "latin1");
});
server.listen(0, "127.0.0.1", () => ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
