/** Turns of connections while a full listener accepts new ones. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Turns } from "../src/http/turns.ts";

it("a hurried turn leaves even first requests to the queue, which serves them; two turns later it is over", async () => {
  const turns = new Turns();
  assert.equal(turns.isOver(0), false);
  turns.hurry();
  assert.equal(turns.isOver(0), true);
  let wasOver: boolean | undefined;
  turns.add({
    proceed() {
      wasOver = turns.isOver(0);
    },
  });
  await turn();
  assert.equal(wasOver, false, "in the queue's turn");
  assert.equal(turns.isOver(0), true, "the next turn reads what arrived");
  await turn();
  await turn();
  assert.equal(turns.isOver(0), false);
});
