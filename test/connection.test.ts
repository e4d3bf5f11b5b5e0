/** The life of a connection: every state, and every way from one to the next. */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { describe, it } from "node:test";
import {
  type Connection,
  connectionOf,
  createConnections,
  drain,
  end,
  endBehind,
  endIfDrained,
  endIfIdle,
  isServing,
  type LifeState,
  linger,
  stateOf,
  take,
} from "../src/edge/connection.ts";

interface FakeResponse {
  writableFinished: boolean;
  destroyed: boolean;
}

/** A connection whose peer takes everything and closes only when it is told to. */
function connect(connections = createConnections()) {
  const socket = new Duplex({
    allowHalfOpen: true,
    read() {},
    write: (_bytes, _encoding, done) => done(),
  }) as unknown as Socket;
  return { connections, connection: connectionOf(connections, socket), socket };
}

function begin(connection: Connection) {
  const fake: FakeResponse = { writableFinished: false, destroyed: false };
  const response = fake as unknown as ServerResponse;
  const taken = take(connection, response);
  return { fake, response, taken };
}

function isIn(connection: Connection, state: LifeState): void {
  assert.equal(stateOf(connection), state);
}

describe("the life of a connection", () => {
  it("is open, busy while some response is not sent, and open again", () => {
    const { connection } = connect();
    isIn(connection, "open");
    const first = begin(connection);
    isIn(connection, "busy");
    first.fake.writableFinished = true;
    isIn(connection, "open");
    const second = begin(connection);
    second.fake.destroyed = true;
    isIn(connection, "open");
    assert.equal(connection.requests, 2);
  });

  it("drains when the server stops, idle or busy, from the start if it comes later", () => {
    const { connections, connection } = connect();
    const busy = connect(connections).connection;
    const { taken } = begin(busy);
    drain(connections);
    const late = connect(connections).connection;
    for (const each of [connection, busy, late]) {
      isIn(each, "draining");
      assert.ok(isServing(each));
    }
    assert.ok(taken && begin(connection).taken);
    isIn(connection, "draining");
  });

  it("ends behind the newest answer of a connection that drains, and behind no other", () => {
    const { connections, connection } = connect();
    const older = begin(connection);
    const newer = begin(connection);
    endIfDrained(connection, newer.response);
    isIn(connection, "busy");
    drain(connections);
    endIfDrained(connection, older.response);
    isIn(connection, "draining");
    connection.waiting.push(() => {});
    endIfDrained(connection, newer.response);
    isIn(connection, "draining");
    connection.waiting.length = 0;
    endIfDrained(connection, newer.response);
    isIn(connection, "closing");
    assert.equal(connection.last, newer.response);
  });

  for (const [from, prepare] of [
    ["open", () => {}],
    ["busy", (connection) => void begin(connection)],
    ["draining", (_connection, connections) => drain(connections)],
  ] as [LifeState, (connection: Connection, connections: ReturnType<typeof createConnections>) => void][]) {
    it(`${from}: an end that is decided is decided once, and nothing more is taken`, () => {
      const { connections, connection } = connect();
      prepare(connection, connections);
      isIn(connection, from);
      assert.equal(end(connection), true);
      isIn(connection, "closing");
      assert.equal(end(connection), false);
      const { requests, newest } = connection;
      assert.equal(begin(connection).taken, false);
      assert.deepEqual([connection.requests, connection.newest], [requests, newest]);
      drain(connections);
      isIn(connection, "closing");
    });

    it(`${from}: ended by node, it lingers, and is gone when the peer closes`, async () => {
      const { connections, connection, socket } = connect();
      prepare(connection, connections);
      socket.destroySoon();
      isIn(connection, "lingering");
      assert.equal(end(connection), false);
      assert.equal(begin(connection).taken, false);
      drain(connections);
      isIn(connection, "lingering");
      const closed = once(socket, "close");
      socket.push(null);
      await closed;
      isIn(connection, "gone");
      assert.equal(connections.bySocket.size, 0);
      linger(connection);
      isIn(connection, "gone");
    });
  }

  it("closes behind its last response, lingers when that is sent, and is destroyed when the peer stays", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { connection, socket } = connect();
    const { response } = begin(connection);
    endBehind(connection, response);
    isIn(connection, "closing");
    socket.destroySoon();
    linger(connection);
    isIn(connection, "lingering");
    const closed = once(socket, "close");
    t.mock.timers.tick(2000);
    await closed;
    isIn(connection, "gone");
  });

  it("ends after the grace only if nothing is under way", () => {
    const { connections, connection } = connect();
    drain(connections);
    const { fake } = begin(connection);
    endIfIdle(connection);
    isIn(connection, "draining");
    fake.writableFinished = true;
    connection.waiting.push(() => {});
    endIfIdle(connection);
    isIn(connection, "draining");
    connection.waiting.length = 0;
    endIfIdle(connection);
    isIn(connection, "lingering");
    endIfIdle(connection);
    isIn(connection, "lingering");
  });

  it("is gone from any state when its socket is destroyed", async () => {
    const { connections } = connect();
    const steps: ((connection: Connection) => void)[] = [
      () => {},
      (connection) => void begin(connection),
      (connection) => void end(connection),
      linger,
      () => drain(connections),
    ];
    for (const step of steps) {
      const { connection, socket } = connect(connections);
      step(connection);
      const closed = once(socket, "close");
      socket.destroy();
      await closed;
      isIn(connection, "gone");
      assert.equal(begin(connection).taken, false);
    }
  });
});
