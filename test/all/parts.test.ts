/** Bodies in parts: their bytes, alone and on the wire, with slow peers. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { after, describe, test } from "node:test";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { rankingPage } from "../../src/api/handlers/bodies.ts";
import type { ConnectionApp } from "../../src/http/connection-host.ts";
import { createNodeDoor } from "../../src/http/node-door.ts";
import { type HttpLimits, HttpServer } from "../../src/http/server.ts";
import { type Body, bodyBytes, type Parts, type Slices, sliceAll } from "../../src/model/body.ts";
import { TextColumn } from "../../src/store/bytes.ts";
import { copyFirstRows, packBlock } from "../../src/store/table.ts";
import { createRandom } from "../../src/util/random.ts";
import { DEFAULTS } from "../support/options.ts";
import { listen } from "../support/ports.ts";
import { dial, header, requestHead, type Wire } from "../support/raw.ts";

const closings: (() => unknown)[] = [];
after(async () => {
  for (const close of closings) await close();
});

const { below } = createRandom(11, "parts");
const block = Buffer.from(new SharedArrayBuffer(1_000_000));
for (let at = 0; at < block.length; at++) block[at] = below(256);

/** Random parts, and their bytes joined in the simplest way. */
function someParts(ranges: number, longest: number) {
  const places: number[] = [];
  const pieces: Buffer[] = [];
  for (let at = 0; at < ranges; at++) {
    const from = below(block.length - longest);
    const to = from + 1 + below(longest);
    places.push(from, to);
    pieces.push(block.subarray(from, to));
  }
  const [head, end] = ['{"data":[', `],"page":${below(1000)}}`];
  const bytes = Buffer.concat([Buffer.from(head), ...pieces, Buffer.from(end)]);
  const length = bytes.length - head.length - end.length;
  const slices: Slices = { bytes: block, ranges: places, between: "", behind: "", length };
  const parts: Parts = { length: bytes.length, head, slices, end };
  return { parts, bytes };
}

/** A body that is `slices` and nothing else. */
const bare = (slices: Slices): Parts => ({ length: slices.length, head: "", slices, end: "" });

describe("a body in parts", () => {
  test("of a ranking is the same from copies of its first rows, behind them, and across their end", () => {
    const rows = Array.from({ length: 30 }, (_, at) => `{"id":${at},"é":"${"ü".repeat(below(50))}"}`);
    const texts = new TextColumn();
    for (const row of rows) texts.push(row);
    const packed = packBlock(texts, Uint32Array.from(rows.keys()));
    const ranking = Uint32Array.from(rows.keys()).reverse();
    const counts = [0, 1, 1000, 1500, packed.bytes.length - 1, packed.bytes.length].map((mostBytes) => {
      const copies = copyFirstRows(packed, ranking, mostBytes);
      assert.ok(copies.bytes.length <= mostBytes);
      for (let offset = 0; offset <= 31; offset++) {
        for (const limit of [1, 7, 50]) {
          const parameters = { limit, offset, q: "", period: "all", worldId: "", match: "exact" } as const;
          const outcome = rankingPage(packed, ranking, copies, parameters, ',"period":"all"');
          assert.ok("body" in outcome);
          const data = Array.from(ranking.subarray(offset, offset + limit), (row) => rows[row]).join();
          const pagination = `"pagination":{"total":30,"limit":${limit},"offset":${offset}}`;
          const told = bodyBytes(outcome.body).toString();
          assert.equal(told, `{"data":[${data}],${pagination},"period":"all"}`);
          assert.equal(outcome.body.length, Buffer.byteLength(told));
        }
      }
      return copies.rows;
    });
    assert.deepEqual([counts[0], counts[1], counts[4], counts[5]], [0, 0, 29, 30]);
    assert.ok(0 < counts[2]! && counts[2]! < counts[3]! && counts[3]! < 29, counts.join());
  });
});

/** A server that answers `/N` with body N, the sockets of its peers, and the number of requests. */
async function serveBodies(
  bodies: readonly Body[],
  way: "our own HTTP" | "node:http" = "our own HTTP",
  limits: Partial<HttpLimits> = {},
) {
  let asked = 0;
  const app: ConnectionApp = {
    answer({ target }) {
      asked++;
      const body = bodies[Number(target.slice(1))]!;
      const headers = `Content-Length: ${body.length}\r\n`;
      return { status: 200, headers, body, route: "", keyId: "" };
    },
    refuse: (fault) => assert.fail(fault),
    begin: () => 0,
    answered() {},
    aborted() {},
  };
  if (way === "our own HTTP") {
    const server = new HttpServer(
      { ...app, observe: ({ kind }) => assert.fail(kind) },
      { ...DEFAULTS, ...limits },
    );
    closings.push(() => server.close(0));
    const { port } = await server.listen("127.0.0.1", 0);
    const sockets = (): Socket[] => [...server.connections].map(({ socket }) => socket);
    return { port, sockets, asked: () => asked };
  }
  const sockets: Socket[] = [];
  const server = createServer(createNodeDoor(app));
  // Answers a peer that half-closes, as our own server does.
  (server as typeof server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  server.on("connection", (socket: Socket) => sockets.push(socket));
  closings.push(() => server.close());
  return { port: await listen(server), sockets: () => sockets, asked: () => asked };
}

/** A connection whose bytes only the test reads. */
async function dialDeaf(port: number): Promise<Wire> {
  const wire = await dial(port);
  wire.socket.removeAllListeners("data");
  wire.socket.pause();
  return wire;
}

/**
 * Asks until the server's end holds unsent bytes. One by one: in a pipeline, later requests would not be answered at once.
 *
 * @param asked number of requests that reached the server
 */
async function stall({ socket }: Wire, end: Socket, asked: () => number, target = () => "/0") {
  while (end.writableLength === 0) {
    const before = asked();
    socket.write(requestHead(target()));
    // Behind a page whose pieces are still being written, it waits.
    while (asked() === before && end.writableLength === 0) await setImmediate();
  }
}

/** Reads the replies slowly and compares them. @returns the number of responses */
async function readSlowly(wire: Wire, asked: readonly number[], bodies: readonly Body[], most: number) {
  wire.end();
  const chunks: Buffer[] = [];
  while (!wire.socket.readableEnded) {
    assert.ok(!wire.socket.destroyed);
    const { readableLength } = wire.socket;
    const chunk = wire.socket.read(Math.min(most, Math.max(readableLength, 1))) as Buffer | null;
    if (chunk !== null) chunks.push(chunk);
    else await setImmediate();
  }
  const bytes = Buffer.concat(chunks);
  let count = 0;
  for (let at = 0; at < bytes.length; count++) {
    const start = bytes.indexOf("\r\n\r\n", at) + 4;
    const head = bytes.toString("latin1", at, start);
    assert.ok(head.startsWith("HTTP/1.1 200 OK\r\n"), head.slice(0, 100));
    at = start + Number(/Content-Length: (\d+)/.exec(head)![1]);
    assert.ok(bytes.subarray(start, at).equals(bodyBytes(bodies[asked[count]!]!)), `response ${count}`);
  }
  return count;
}

describe("parts on the wire", () => {
  for (const way of ["our own HTTP", "node:http"] as const) {
    test(`peers that read slowly get every byte while others are answered (${way})`, async () => {
      // Some bodies are texts, and some are too long to be joined into one buffer.
      const bodies: Body[] = Array.from({ length: 40 }, (_, at) => {
        const { parts, bytes } = someParts(1 + (at % 3), at % 7 === 6 ? 700_000 : 90_000);
        return at % 5 === 4 ? bytes.toString("latin1") : parts;
      });
      const { port, sockets, asked: count } = await serveBodies(bodies, way);
      const slow: { wire: Wire; asked: number[] }[] = [];
      for (let who = 0; who < 3; who++) {
        const wire = await dialDeaf(port);
        const asked: number[] = [];
        await stall(wire, sockets().at(-1)!, count, () => {
          asked.push(who === 0 ? 6 : below(40));
          return `/${asked.at(-1)}`;
        });
        const more = Array.from({ length: 20 }, () => below(40));
        void wire.send(more.map((at) => requestHead(`/${at}`)).join(""));
        slow.push({ wire, asked: [...asked, ...more] });
      }
      const quick = await dial(port);
      for (let at = 0; at < 40; at++) {
        await quick.send(requestHead(`/${at}`));
        assert.equal(header(await quick.response(), "Content-Length"), String(bodies[at]!.length));
      }
      const counts = slow.map(({ wire, asked }, who) =>
        readSlowly(wire, asked, bodies, who === 0 ? 1000 : 60_000),
      );
      const expected = slow.map(({ asked }) => asked.length);
      assert.deepEqual(await Promise.all(counts), expected);
    });
  }

  test("node:http ends a peer that reads nothing of a page for two minutes, and none that has read it", async (t) => {
    const page = bare(sliceAll(Buffer.alloc(60_000, "x")));
    const { port, sockets, asked } = await serveBodies([page], "node:http");
    const peers = [await dialDeaf(port), await dialDeaf(port)];
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const [late, reader] = sockets() as [Socket, Socket];
    await stall(peers[0]!, late, asked);
    await stall(peers[1]!, reader, asked);
    t.mock.timers.tick(119_999);
    peers[1]!.socket.resume();
    while (reader.writableLength > 0) await setImmediate();
    await setImmediate();
    assert.ok(!late.destroyed);
    t.mock.timers.tick(10_000);
    assert.ok(late.destroyed && !reader.destroyed);
    for (const peer of peers) peer.destroy();
  });

  const large = bare(sliceAll(Buffer.alloc(25_000_000, "x")));

  /** Asks for the large page and reads it whole. */
  async function readLarge({ socket }: Wire): Promise<void> {
    let missing = large.length;
    socket.removeAllListeners("data");
    socket.on("data", ({ length }) => {
      missing -= length;
    });
    socket.write(requestHead("/0"));
    while (missing > 0) {
      assert.ok(!socket.readableEnded && !socket.destroyed, `${missing} bytes are missing`);
      await sleep(1);
    }
  }

  test("a peer that reads nothing of a large page is cut after the timeout, one that reads slowly is not", async () => {
    const limits = { socketTimeout: 0.5, timeoutCheckInterval: 0.1 };
    const { port, sockets } = await serveBodies([large], "our own HTTP", limits);
    const deaf = await dial(port);
    deaf.socket.pause();
    void deaf.send(requestHead("/0"));
    while (sockets()[0]!.writableLength === 0) await setImmediate();
    const began = performance.now();
    const slow = await dial(port);
    slow.socket.removeAllListeners("data");
    slow.socket.on("data", () => {
      slow.socket.pause();
      setTimeout(() => slow.socket.resume(), 10);
    });
    void slow.send(requestHead("/0"));
    while (sockets().length > 1) await sleep(10);
    const ms = performance.now() - began;
    assert.ok(ms > 500 && ms < 5000, `${ms} ms`);
    await sleep(1000);
    assert.equal(sockets().length, 1);
    assert.ok(!slow.socket.destroyed && slow.socket.bytesRead < large.length);
    slow.destroy();
  });

  test("60 peers that read nothing of large pages leave room for those who read", async () => {
    const most = 100_000_000;
    const { port } = await serveBodies([large], "our own HTTP", { maxUnsentBytes: most });
    const readers = [await dial(port), await dial(port)];
    /** Pages begin only within the bound: bytes that the system has taken are not unsent. */
    let largest = 0;
    for (let who = 0; who < 60; who++) {
      const deaf = await dial(port);
      deaf.socket.pause();
      void deaf.send(requestHead("/0"));
      if (who % 20 === 0) await Promise.all(readers.map(readLarge));
      largest = Math.max(largest, process.memoryUsage().arrayBuffers);
    }
    await sleep(50);
    // Without the bound it would be sixty pages; the readers' own bytes come on top.
    assert.ok(largest < 3 * most, `${largest} bytes`);
  });

  test("peers that read nothing keep no old generation in memory", async () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const bodies: Body[] = [];
    const { port, sockets, asked } = await serveBodies(bodies);
    /** Serves a block to two peers that read nothing, then drops it. @returns a weak reference to the block */
    async function answerAndForget(generation: number): Promise<WeakRef<SharedArrayBuffer>> {
      const memory = new SharedArrayBuffer(1_000_000);
      const length = [20_000, 200_000, 900_000][generation % 3]!;
      bodies[0] = bare(sliceAll(Buffer.from(memory, 7, length)));
      for (let peer = 0; peer < 2; peer++) await stall(await dialDeaf(port), sockets().at(-1)!, asked);
      return new WeakRef(memory);
    }
    const blocks: WeakRef<SharedArrayBuffer>[] = [];
    for (let generation = 0; generation < 10; generation++) blocks.push(await answerAndForget(generation));
    bodies.length = 0;
    const held = (): number => blocks.filter((block) => block.deref() !== undefined).length;
    // A weak reference that was read keeps its target alive until the end of the turn.
    for (let tries = 0; tries < 20 && held() > 0; tries++) {
      await setImmediate();
      gc();
    }
    assert.equal(held(), 0);
    assert.equal(sockets().filter(({ writableLength }) => writableLength > 0).length, 20);
  });
});
