/** Replies as the bytes that are expected on the wire, and clients that compare all they get with them. */

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";

/** One reply, but for ranges that each reply has its own bytes in: its time, and what is left of a limit. */
export interface Expected {
  readonly bytes: Buffer;
  /** Ranges that are compared, two numbers each. */
  readonly fixed: readonly number[];
}

/** A request, and its reply by generation. */
export interface Asked {
  readonly request: string;
  readonly replies: readonly Expected[];
}

const OWN = /\r\n(?:Date|X-RateLimit-Remaining|X-RateLimit-Reset): ([^\r]*)/g;

/** Takes a recorded reply as what is expected of later ones. Bytes that differ must have a fixed length. */
export function expect(bytes: Buffer): Expected {
  const head = bytes.toString("latin1", 0, bytes.indexOf("\r\n\r\n"));
  const fixed = [0];
  for (const found of head.matchAll(OWN)) {
    const end = found.index + found[0].length;
    fixed.push(end - found[1]!.length, end);
  }
  return { bytes, fixed: [...fixed, bytes.length] };
}

/** Whether bytes begin as a reply does, as far as there are both. */
function agree({ bytes, fixed }: Expected, got: Buffer): boolean {
  for (let at = 0; at < fixed.length; at += 2) {
    const from = fixed[at]!;
    const to = Math.min(fixed[at + 1]!, got.length);
    if (from >= to) return true;
    if (bytes.compare(got, from, to, from, to) !== 0) return false;
  }
  return true;
}

/** Checks the replies of one connection, in order. */
export class Comparison {
  /** Whole replies so far. */
  replies = 0;
  readonly #asked: Asked[] = [];
  #first = 0;
  #rest: Buffer = Buffer.alloc(0);
  /** Of the newest reply. */
  #generation = 0;

  /** Requests without a reply. */
  get open(): number {
    return this.#asked.length - this.#first;
  }

  ask(asked: Asked): void {
    this.#asked.push(asked);
  }

  /** Compares what has arrived. @throws {AssertionError} at the first byte that cannot be right */
  take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length > 0) {
      const asked = this.#asked[this.#first];
      assert.ok(
        asked !== undefined,
        `bytes that nobody asked for: ${this.#rest.toString("latin1").slice(0, 200)}`,
      );
      const whole = this.#find(asked);
      if (whole === undefined) return;
      this.#rest = this.#rest.subarray(whole.bytes.length);
      this.#first++;
      this.replies++;
    }
    this.#asked.splice(0, this.#first);
    this.#first = 0;
  }

  /** The reply that the bytes begin with; undefined when it is not whole. Of two equal in part both are possible. */
  #find({ request, replies }: Asked): Expected | undefined {
    let isPossible = false;
    for (let turn = 0; turn < replies.length; turn++) {
      const generation = (this.#generation + turn) % replies.length;
      const expected = replies[generation]!;
      if (!agree(expected, this.#rest)) continue;
      isPossible = true;
      if (this.#rest.length < expected.bytes.length) continue;
      this.#generation = generation;
      return expected;
    }
    if (isPossible) return undefined;
    const got = this.#rest.toString("latin1").slice(0, 1000);
    const wanted = replies.map(({ bytes }) => bytes.toString("latin1").slice(0, 1000));
    assert.fail(
      `${JSON.stringify(request)}\nwas answered\n${JSON.stringify(got)}\nin place of\n${JSON.stringify(wanted)}`,
    );
  }
}

/** Resolves when a connection has closed; rejects with what was wrong. */
export interface Visit {
  readonly socket: Socket;
  readonly comparison: Comparison;
  readonly over: Promise<void>;
}

/** Opens a connection whose replies are compared. @param bytesAtOnce most that one read takes; the system's choice when absent */
export function visit(port: number, bytesAtOnce?: number, arrived: () => void = () => {}): Visit {
  const comparison = new Comparison();
  let problem: unknown;
  const read = (chunk: Buffer): void => {
    try {
      comparison.take(chunk);
    } catch (error) {
      problem ??= error;
      socket.destroy();
      return;
    }
    arrived();
  };
  const buffer = Buffer.alloc(bytesAtOnce ?? 0);
  const callback = (length: number): boolean => {
    // The memory is used again.
    read(Buffer.from(buffer.subarray(0, length)));
    return true;
  };
  const onread = bytesAtOnce === undefined ? {} : { onread: { buffer, callback } };
  const socket: Socket = connect({ host: "127.0.0.1", port, noDelay: true, ...onread });
  if (bytesAtOnce === undefined) socket.on("data", read);
  socket.on("error", (error) => {
    problem ??= error;
  });
  const over = new Promise<void>((resolve, reject) => {
    socket.once("close", () => (problem === undefined ? resolve() : reject(problem)));
  });
  return { socket, comparison, over };
}
