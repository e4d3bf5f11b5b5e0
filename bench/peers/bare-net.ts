/**
 * A reference for `--http direct`: node:net that answers every request with one prepared reply. It reads nothing of a request
 * but its end, and checks nothing.
 *
 *     bare-net.ts SNAPSHOT KEYS REPLY
 */

import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { type RecordedReply, ready } from "./shared.ts";

const { headers, body, status } = JSON.parse(readFileSync(process.argv[4]!, "utf8")) as RecordedReply;
const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : []));
const head = `HTTP/1.1 ${status} OK\r\nDate: ${new Date().toUTCString()}\r\nConnection: keep-alive\r\n`;
const reply = Buffer.from(`${head}${lines.join("\r\n")}\r\n\r\n${body}`, "latin1");

/** The number of heads that end in a text, and the rest after the last of them. */
function cutHeads(text: string): { readonly count: number; readonly rest: string } {
  let count = 0;
  let from = 0;
  for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n", from)) {
    count++;
    from = end + 4;
  }
  return { count, rest: text.slice(from) };
}

const server = createServer({ noDelay: true }, (socket) => {
  let before = "";
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    const { count, rest } = cutHeads(before + chunk.toString("latin1"));
    before = rest;
    if (count === 1) socket.write(reply);
    else if (count > 1) socket.write(Buffer.concat(Array<Buffer>(count).fill(reply)));
  });
});
server.listen(0, "127.0.0.1", () => ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
