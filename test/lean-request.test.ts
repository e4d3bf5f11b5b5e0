/** Requests of our servers are node's to everybody who looks, and cost less while nobody does. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, test } from "node:test";
import type { State } from "../src/answer.ts";
import { LeanRequest } from "../src/edge/lean-request.ts";
import { createHttpServer, DEFAULT_LIMITS } from "../src/serve/listen/http.ts";

const HEAD =
  "Host: a\r\nAccept: text/html\r\naccept: b\r\nCookie: c=1\r\nCookie: d=2\r\nIf-Match: e\r\nIf-Match: f\r\nX-G: h\r\n";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** Sends texts over one connection, each behind the answer to the last; gives what came back. */
async function exchange(server: Server, texts: readonly string[]): Promise<string[]> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const answers: string[] = [];
  for (const text of texts) {
    socket.write(text);
    let answer = "";
    while (!answer.endsWith("x")) answer += String((await once(socket, "data"))[0]);
    answers.push(answer.split("\r\n")[0]!);
  }
  socket.destroy();
  server.closeAllConnections();
  server.close();
  return answers;
}

const lean = (handle: Handle): Server =>
  createServer({ IncomingMessage: LeanRequest, requireHostHeader: false }, handle);

/** What node keeps of headers that it built. */
function builtHeaders(request: IncomingMessage): unknown {
  const [key] = Object.getOwnPropertySymbols(request).filter(({ description }) => description === "kHeaders");
  assert.ok(key, "node keeps them elsewhere");
  return (request as unknown as Record<symbol, unknown>)[key];
}

describe("a lean request", () => {
  test("is what our servers take", () => {
    const { server } = createHttpServer({} as State, DEFAULT_LIMITS);
    const options = Object.getOwnPropertySymbols(server).map((key) => Reflect.get(server, key) as unknown);
    assert.ok(options.includes(LeanRequest));
  });

  test("has node's headers, in every way of reading them", async () => {
    const seen: unknown[] = [];
    const look: Handle = ({ headers }, response) => {
      seen.push([
        { ...headers },
        Object.keys(headers),
        JSON.stringify(headers),
        headers.cookie,
        headers.expect,
        "host" in headers,
        "expect" in headers,
        Object.hasOwn(headers, "accept"),
        String(Object.getPrototypeOf(headers) === Object.prototype),
      ]);
      response.end("x");
    };
    const text = `GET / HTTP/1.1\r\n${HEAD}\r\n`;
    await exchange(createServer(look), [text]);
    await exchange(lean(look), [text]);
    assert.equal(seen.length, 2);
    assert.deepEqual(seen[1], seen[0]);
  });

  test("can be given other headers, and some less", async () => {
    const look: Handle = (request, response) => {
      request.headers["x-more"] = "1";
      delete request.headers.cookie;
      assert.deepEqual([request.headers["x-more"], "cookie" in request.headers], ["1", false]);
      request.headers = { only: "this" };
      assert.deepEqual({ ...request.headers }, { only: "this" });
      response.end("x");
    };
    assert.deepEqual(await exchange(lean(look), [`GET / HTTP/1.1\r\n${HEAD}\r\n`]), ["HTTP/1.1 200 OK"]);
  });

  test("has its headers built by nobody, and its stream is over with its head", async () => {
    const requests: IncomingMessage[] = [];
    const server = lean((request, response) => {
      requests.push(request);
      response.end("x");
    });
    const text = `GET / HTTP/1.1\r\n${HEAD}\r\n`;
    await exchange(server, [text, text]);
    for (const request of requests) {
      assert.equal(builtHeaders(request), null);
      assert.deepEqual([request.readableEnded, request.complete], [true, true]);
      assert.equal(request.readableFlowing, null, "nobody read it");
    }
    assert.equal(requests.length, 2);
  });

  test("is let go of behind its response", async () => {
    const held: unknown[] = [];
    const server = lean((request, response) => {
      const { parser } = request.socket as unknown as { parser: { incoming: unknown } };
      response.once("close", () => held.push(parser.incoming));
      response.end("x");
    });
    const text = `GET / HTTP/1.1\r\n${HEAD}\r\n`;
    await exchange(server, [text, text]);
    assert.deepEqual(held, [null, null]);
  });

  test("brings its body to whoever reads it, and loses one that nobody reads", async () => {
    const bodies: string[] = [];
    const server = lean(async (request, response) => {
      if (request.url === "/unread") {
        response.end("x");
        return;
      }
      let body = "";
      for await (const chunk of request) body += String(chunk);
      bodies.push(body);
      response.end("x");
    });
    const chunked = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
    const answers = await exchange(server, [
      `POST /read HTTP/1.1\r\nHost: a\r\n${chunked}`,
      `POST /unread HTTP/1.1\r\nHost: a\r\n${chunked}`,
      "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
      "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
      "GET /unread HTTP/1.1\r\nHost: a\r\n\r\n",
    ]);
    assert.deepEqual(answers, new Array(5).fill("HTTP/1.1 200 OK"));
    assert.deepEqual(bodies, ["abcdefg", "", "hi"]);
  });

  test("says that it expects something, however that is written", async () => {
    const heard: string[] = [];
    // Each on a connection of its own: node ends one whose body it did not ask for.
    const ask = async (line: string): Promise<string> => {
      const server = lean((_request, response) => response.end("x"));
      const answer: Handle = ({ headers }, response) => {
        heard.push(headers.expect!);
        response.end("x");
      };
      server.on("checkContinue", answer);
      server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
        response.statusCode = 417;
        answer(request, response);
      });
      return (await exchange(server, [`GET / HTTP/1.1\r\nHost: a\r\n${line}\r\n\r\n`]))[0]!;
    };
    await ask("Expect: 100-continue");
    await ask("eXPECT: 100-Continue");
    const refused = await ask("EXPECT: more");
    const answered = await ask("Accept: 100-continue");
    assert.deepEqual(heard, ["100-continue", "100-Continue", "more"]);
    assert.equal(refused, "HTTP/1.1 417 Expectation Failed");
    assert.equal(answered, "HTTP/1.1 200 OK");
  });
});
