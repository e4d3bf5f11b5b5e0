/** Observations of serving threads: in batches, bounded, and none lost without being counted. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Observation } from "../src/observe/events.ts";
import { BatchSender, type ObservationBatch, takeBatch } from "../src/server/threads/observation-batches.ts";

const request: Observation = {
  kind: "request",
  id: "r",
  method: "GET",
  path: "/",
  route: "",
  status: 404,
  bytes: 1,
  ms: 1,
  keyId: "",
};

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

describe("observations of a thread", () => {
  it("are bounded while nobody takes them, those of requests first, and the rest is counted", async () => {
    const batches: ObservationBatch[] = [];
    const sender = new BatchSender((batch) => batches.push(batch));
    for (let n = 0; n < 100_000; n++) sender.observe(request);
    await turn();
    for (let n = 0; n < 100_000; n++) sender.observe(request);
    assert.equal(batches.length, 2, "few are under way");
    sender.observe({ kind: "keys-loaded", keys: 1, added: 1, changed: 0, removed: 0 });
    const kept = (): number => batches.reduce((sum, { observations }) => sum + observations.length, 0);
    for (let taken = 0; taken < batches.length; taken++) sender.taken();
    assert.ok(kept() < 20_000, `${kept()} were kept`);
    const dropped = batches.reduce((sum, batch) => sum + batch.dropped, 0);
    assert.equal(kept() + dropped, 200_001);
    assert.equal(batches.at(-1)!.observations.at(-1)!.kind, "keys-loaded");
    // It goes on as before.
    sender.observe(request);
    await turn();
    assert.equal(kept() + dropped, 200_002);
  });

  it("leave at the end, whatever is under way", () => {
    const batches: ObservationBatch[] = [];
    const sender = new BatchSender((batch) => batches.push(batch));
    for (let n = 0; n < 3000; n++) sender.observe(request);
    sender.flush();
    assert.equal(batches.flatMap(({ observations }) => observations).length, 3000);
  });

  it("are told of one by one, and what was dropped at the end", () => {
    const seen: Observation[] = [];
    takeBatch({ lines: "", observations: [request], dropped: 7 }, (observation) => seen.push(observation));
    assert.deepEqual(seen, [request, { kind: "log-lines-dropped", count: 7 }]);
  });
});
