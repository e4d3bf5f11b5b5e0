/** Turns of connections while a full listener accepts new ones. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Turns } from "../src/http/turns.ts";

it("are hurried for this turn and the next, and serve a shorter slice", async () => {
  const turns = new Turns();
  let served = 0;
  const slow = {
    proceed() {
      served++;
      const until = performance.now() + 0.3;
      while (performance.now() < until);
    },
  };
  assert.equal(turns.isHurried, false);
  turns.hurry();
  for (let at = 0; at < 3; at++) turns.add(slow, true);
  assert.equal(turns.isHurried, true);
  await turn();
  assert.deepEqual({ served, isHurried: turns.isHurried }, { served: 1, isHurried: true });
  await turn();
  await turn();
  assert.equal(turns.isHurried, false);
});
