/** Questions to another thread: sent in batches, dropped when nobody waits, asked again when the thread dies. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Questions, type SearchBatch } from "../src/server/search/questions.ts";
import { BUSY } from "../src/store/generation.ts";

const PAGE = { limit: 2, offset: 0 };

function createAsked() {
  const sent: SearchBatch[] = [];
  const thread = { isThere: true };
  const settled: number[] = [];
  const questions: Questions = new Questions(
    (batch) => {
      if (thread.isThere) sent.push(batch);
      return thread.isThere;
    },
    () => settled.push(questions.size),
  );
  const gone = new Set<string>();
  const ask = (term: string) => questions.ask("users", term, PAGE, { key: 1, isGone: () => gone.has(term) });
  const termsOf = (batch: SearchBatch | undefined) => batch?.asked.map(({ term }) => term);
  return { questions, sent, thread, settled, gone, ask, termsOf };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("questions to a thread", () => {
  it("go out together, and each gets its own answer", async () => {
    const { questions, sent, settled, ask } = createAsked();
    const [a, b, c] = [ask("a"), ask("b"), ask("c")];
    await turn();
    assert.equal(sent.length, 1);
    const [first, second, third] = sent[0]!.asked.map(({ number }) => number);
    questions.settle({ number: second!, found: { total: 2, rows: [7] } });
    questions.settle({ number: first!, problem: "no" });
    questions.settle({ number: third!, over: true });
    questions.settle({ number: third!, found: { total: 1, rows: [1] } });
    await assert.rejects(a, /no/);
    assert.deepEqual(await b, { total: 2, rows: [7] });
    assert.equal(await c, undefined);
    assert.deepEqual(settled, [2, 1, 0]);
  });

  it("are dropped when their callers are gone", async () => {
    const { questions, sent, gone, ask, termsOf } = createAsked();
    const kept = ask("kept");
    const sentOne = ask("sent");
    await turn();
    const later = ask("later");
    gone.add("sent").add("later");
    assert.deepEqual(await Promise.all([sentOne, later]), [BUSY, BUSY]);
    assert.equal(questions.size, 1);
    await turn();
    assert.ok(sent.some(({ dropped }) => dropped.includes(sent[0]!.asked[1]!.number)));
    assert.ok(!sent[0]!.dropped.includes(sent[0]!.asked[0]!.number));
    assert.deepEqual(termsOf(sent[0]), ["kept", "sent"]);
    questions.settle({ number: sent[0]!.asked[0]!.number, found: { total: 0, rows: [] } });
    await kept;
  });

  it("wait for the next thread, which is asked all that is open", async () => {
    const { questions, sent, thread, ask, termsOf } = createAsked();
    const a = ask("a");
    await turn();
    thread.isThere = false;
    const b = ask("b");
    await turn();
    thread.isThere = true;
    questions.askAgain();
    assert.deepEqual(termsOf(sent.at(-1)), ["a", "b"]);
    await turn();
    assert.equal(sent.length, 2);
    questions.fail((question) => ++question.deaths >= 2, "died");
    assert.equal(questions.size, 2);
    questions.fail((question) => ++question.deaths >= 2, "died");
    for (const one of [a, b]) await assert.rejects(one, /died/);
    assert.equal(questions.size, 0);
  });
});
