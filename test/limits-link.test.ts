/** The way to a counter server whose answers come in time, late, or not at all. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Connection } from "../src/shared-limits/connection.ts";
import { AwayError, Link } from "../src/shared-limits/link.ts";
import { until } from "./support/process.ts";

/** A link to a server that answers when it is told to. */
function linked(t: TestContext) {
  const sent: string[] = [];
  const answers: ((value: unknown) => void)[] = [];
  const seen: string[] = [];
  let opened = 0;
  const connection: Connection = {
    isCluster: false,
    run(command) {
      sent.push(command.join(" "));
      return new Promise((resolve) => answers.push(resolve));
    },
    close() {
      seen.push("closed");
    },
  };
  const link = new Link({
    answerMs: 15,
    async open() {
      opened++;
      return connection;
    },
    check: async () => {},
    onAway: (problem) => seen.push(`away: ${problem}`),
    onBack: () => seen.push("back"),
    onUp: () => seen.push("up"),
    say: (error) => (error as Error).message,
  });
  t.after(() => link.close());
  const late: unknown[] = [];
  const ask = () =>
    link.run(
      ["ASK"],
      (answer) => answer,
      (answer) => late.push(answer),
    );
  const overdue = () => assert.rejects(ask(), /no answer within 15 ms/);
  return { link, sent, answers, seen, ask, late, overdue, opened: () => opened };
}

const AWAY = "away: no answer within 15 ms";

describe("a link", () => {
  it("is away as soon as an answer is overdue, told once, and sends nothing until another connection is good", async (t) => {
    const { link, sent, answers, seen, ask, late, overdue, opened } = linked(t);
    await link.tried;
    await overdue();
    assert.deepEqual(seen, ["up", AWAY]);
    assert.equal(link.isUp, false);
    await assert.rejects(ask(), AwayError);
    assert.deepEqual(sent, ["ASK"]);
    answers[0]!("late");
    await until(() => link.isUp, "another connection");
    assert.deepEqual(late, ["late"], "what comes late is handed on");
    const again = ask();
    answers[1]!("in time");
    assert.equal(await again, "in time");
    assert.deepEqual([seen, opened()], [["up", AWAY, "closed", "back", "up"], 2]);
    assert.deepEqual(late, ["late"]);
  });

  it("awaits all that is on its way, in time or late, before it closes the connection", async (t) => {
    const { link, answers, seen, ask, late, overdue } = linked(t);
    await link.tried;
    const first = overdue();
    await new Promise((resolve) => setTimeout(resolve, 8));
    const second = ask().catch((error: unknown) => error);
    await first;
    answers[0]!("first");
    await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual([late, seen], [["first"], ["up", AWAY]]);
    answers[1]!("second");
    const outcome = await second;
    assert.ok(outcome === "second" || late.includes("second"));
    assert.deepEqual(seen, ["up", AWAY, "closed"]);
  });

  it("is closed when nothing comes, and opened again", async (t) => {
    const { link, seen, overdue, opened } = linked(t);
    await link.tried;
    await overdue();
    await until(() => opened() === 2 && link.isUp, "another connection");
    assert.deepEqual(seen, ["up", AWAY, "closed", "back", "up"]);
  });

  it("tells of each loss and each return", async (t) => {
    const { link, answers, seen, overdue } = linked(t);
    await link.tried;
    for (let at = 0; at < 3; at++) {
      await overdue();
      answers[at]!("late");
      await until(() => link.isUp, "the link to be up");
    }
    const one = [AWAY, "closed", "back", "up"];
    assert.deepEqual(seen, ["up", ...one, ...one, ...one]);
  });
});
