/** The timer of those who wait for a counter server. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startRealTimer } from "../src/shared-limits/monotonic.ts";

/** Keeps the thread busy. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Keeps the thread busy in turns of the event loop. @returns how many there were before a timer called */
function turnsBefore(ms: number, turnMs: number): Promise<number> {
  return new Promise((resolve) => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      if (isOver) return;
      turns++;
      block(turnMs);
      setImmediate(turn);
    };
    startRealTimer(() => {
      isOver = true;
      resolve(turns);
    }, ms);
    turn();
  });
}

/** Waits for a timer. @returns how long that took, in milliseconds */
function timed(ms: number, meanwhile: () => void): Promise<number> {
  const began = performance.now();
  return new Promise((resolve) => {
    startRealTimer(() => resolve(performance.now() - began), ms);
    meanwhile();
  });
}

describe("the timer of those who wait", () => {
  it("calls behind its time", async () => {
    for (const ms of [1, 4, 41]) assert.ok((await timed(ms, () => {})) >= ms - 1, `${ms} ms`);
  });

  it("does not take the thread's delay for that of a server", async () => {
    // Of the 60 ms a fraction counts, so what had arrived by then, and what is sent only now, is waited for.
    const took = await timed(40, () => block(60));
    assert.ok(took >= 60 + 20 - 1, `${took} ms`);
  });

  it("costs no more than some turns of a busy event loop", async () => {
    for (const turnMs of [10, 20, 40]) {
      const turns = await turnsBefore(45, turnMs);
      assert.ok(turns <= 7, `${turns} turns of ${turnMs} ms`);
    }
  });

  it("can be stopped at any moment", async () => {
    let calls = 0;
    const stop = startRealTimer(() => calls++, 5);
    // What stops it arrives when its time is over already.
    await new Promise<void>((resolve) =>
      setTimeout(() => {
        block(30);
        stop();
        resolve();
      }, 1),
    );
    await timed(30, () => {});
    assert.equal(calls, 0);
  });
});
