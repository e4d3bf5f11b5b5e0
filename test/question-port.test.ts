/** Long searches over a port: answered, dropped with whoever asked, and given back when nobody answers any more. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { Asker, answerFrom } from "../src/server/threads/question-port.ts";
import type { Caller, Found, Generation } from "../src/store/generation.ts";
import { within } from "./support/patience.ts";

const PAGE = { limit: 2, offset: 0 };
const SOMEBODY: Caller = { key: 1, isGone: () => false };
const FOUND: Found = { total: 3, rows: Uint32Array.of(7, 9) };

interface Search {
  readonly term: string;
  readonly caller: Caller;
  readonly resolve: (found: Found | undefined) => void;
  readonly reject: (error: Error) => void;
}

function open() {
  const { port1, port2 } = new MessageChannel();
  after(() => port2.close());
  const searches: Search[] = [];
  let wake = (): void => {};
  const find = (term: string, _page: unknown, caller: Caller) =>
    new Promise<Found | undefined>((resolve, reject) => {
      searches.push({ term, caller, resolve, reject });
      wake();
    });
  const generation = { search: { users: find, worlds: find }, similar: undefined } as unknown as Generation;
  answerFrom(generation, port1);
  const asker = new Asker(port2);
  /** Resolves when so many searches have begun. */
  const begun = async (count: number): Promise<void> => {
    while (searches.length < count) {
      await within(new Promise<void>((resolve) => (wake = resolve)), "a search");
    }
  };
  const ask = (term: string, similar = false) => asker.ask("users", term, PAGE, SOMEBODY, similar);
  return { asker, ask, searches, begun, port1, port2 };
}

describe("questions over a port", () => {
  it("are answered each with its own answer, whichever comes first", async () => {
    const { ask, searches, begun } = open();
    const [a, b, c, d] = [ask("a"), ask("b"), ask("c"), ask("d", true)];
    await begun(3);
    searches[1]!.resolve(FOUND);
    searches[0]!.reject(new Error("no"));
    searches[2]!.resolve(undefined);
    await assert.rejects(a, /no/);
    assert.deepEqual(await b, FOUND);
    assert.equal(await c, undefined);
    // There is no similar search: whoever asked goes on without.
    assert.equal(await d, undefined);
  });

  it("what was asked is answered behind the end of its generation, and what is asked later is given back", async () => {
    const { asker, ask, searches, begun, port1 } = open();
    const asked = ask("asked");
    await begun(1);
    asker.retire();
    const late = ask("late");
    await begun(2);
    const closed = once(port1, "close");
    for (const { resolve } of searches) resolve(FOUND);
    assert.deepEqual(await Promise.all([asked, late]), [FOUND, FOUND]);
    await within(closed, "the end of the port");
    assert.equal(await ask("later"), undefined);
    assert.equal(searches.length, 2);
  });

  it("are given back when the other end is closed", async () => {
    const { ask, begun, port1 } = open();
    const asked = ask("asked");
    await begun(1);
    port1.close();
    assert.equal(await within(asked, "the question"), undefined);
    assert.equal(await ask("later"), undefined);
  });

  it("are nobody's when whoever asked is gone", async () => {
    const { ask, searches, begun, port1, port2 } = open();
    void ask("asked");
    await begun(1);
    assert.equal(searches[0]!.caller.isGone(), false);
    const closed = once(port1, "close");
    port2.close();
    await within(closed, "the end of the port");
    assert.equal(searches[0]!.caller.isGone(), true);
  });
});
