/** The two ways to write a reply say the same, and leave nothing behind. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { type Respond, respondAs, respondByHead } from "../src/edge/respond.ts";
import type { Reply } from "../src/message.ts";

const KEEP_ALIVE_MS = 7000;
const body = JSON.stringify({ data: "x".repeat(50_000) });
const headers = `Content-Type: application/json; charset=utf-8\r\nETag: "g1"\r\nContent-Length: ${body.length}\r\n`;
const reply: Reply = { status: 412, headers, body, route: "", keyId: "" };

/** Answers one request, and gives what came over the wire and the response that wrote it. */
async function answerOnce(respond: Respond, closes: boolean) {
  const responses: ServerResponse[] = [];
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (_request, response) => {
    responses.push(response);
    respond(response, reply, closes);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const request = get({
    port: (server.address() as AddressInfo).port,
    headers: { Connection: "keep-alive" },
  });
  const [message] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of message.setEncoding("latin1")) text += chunk;
  server.closeAllConnections();
  server.close();
  const { date: _, ...named } = message.headers;
  assert.ok(Math.abs(Date.parse(message.headers.date!) - Date.now()) < 5000);
  return {
    head: { status: message.statusCode, reason: message.statusMessage, ...named },
    text,
    response: responses[0]!,
  };
}

describe("a reply", () => {
  for (const closes of [false, true]) {
    test(`is the same by head and as text${closes ? ", at the end of a connection" : ""}`, async () => {
      const byHead = await answerOnce(respondByHead, closes);
      const byText = await answerOnce(respondAs(KEEP_ALIVE_MS), closes);
      assert.deepEqual(byText.head, byHead.head);
      assert.equal(byText.head.connection, closes ? "close" : "keep-alive");
      assert.equal(byText.text, body);
      assert.equal(byHead.text, body);
    });
  }

  test("is not kept by its response, which an idle connection keeps", async () => {
    const { response } = await answerOnce(respondAs(KEEP_ALIVE_MS), false);
    const { _header: kept } = response as unknown as { _header: string };
    assert.ok(kept.length < 1000, `${kept.length} chars`);
    assert.deepEqual([response.headersSent, response.statusCode], [true, 412]);
  });
});
