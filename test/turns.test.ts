/** Turns of the event loop and the connections that share them. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Turns } from "../src/http/turns.ts";

function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it("are hurried for this turn and the next, and serve a shorter slice", async () => {
  const turns = new Turns();
  let served = 0;
  const slow = {
    proceed() {
      served++;
      work(0.3);
    },
  };
  turns.hurry();
  assert.equal(turns.isHurried, false, "nobody waits");
  for (let at = 0; at < 3; at++) turns.add(slow, true);
  turns.hurry();
  assert.equal(turns.isHurried, true);
  await turn();
  assert.deepEqual({ served, isHurried: turns.isHurried }, { served: 1, isHurried: true });
  await turn();
  await turn();
  assert.equal(turns.isHurried, false);
});

it("soon take no request any more when they are long, not even the first of a connection", async () => {
  const turns = new Turns();
  /** Whether one of a few connections must leave the turn to others. */
  const isOver = (): boolean => Array.from({ length: 8 }, () => turns.isOver(0)).includes(true);
  assert.equal(isOver(), false);
  work(3);
  assert.equal(isOver(), true);
  for (let at = 0; at < 20; at++)
    assert.ok(turns.isOver(0), "no arrival is taken once the turn is known as long");
  await turn();
  assert.equal(isOver(), false);
});

it("serve requests that have arrived before the rest of pipelines, and both in each turn", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const waiting = (name: string) => ({
    proceed() {
      order.push(name);
      work(2);
    },
  });
  for (let at = 0; at < 3; at++) turns.add(waiting("pipeline"), false);
  for (let at = 0; at < 2; at++) turns.add(waiting("arrived"), true);
  while (order.length < 5) await turn();
  assert.deepEqual(order, ["arrived", "pipeline", "arrived", "pipeline", "pipeline"]);
});
