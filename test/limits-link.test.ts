/** The way to a counter server whose answers come in time, late, or not at all. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Connection } from "../src/serve/limits/connection.ts";
import { AwayError, createLink } from "../src/serve/limits/link.ts";
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
  const link = createLink({
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
  const ask = () => link.run(["ASK"], (answer) => answer);
  const late = () => assert.rejects(ask(), /no answer within 15 ms/);
  return { link, sent, answers, seen, ask, late, opened: () => opened };
}

describe("a link", () => {
  it("sends nothing while an answer is overdue, and goes on when it comes", async (t) => {
    const { link, sent, answers, seen, ask, late, opened } = linked(t);
    await link.tried;
    await late();
    assert.equal(link.isUp(), false);
    await assert.rejects(ask(), AwayError);
    assert.deepEqual(sent, ["ASK"]);
    answers[0]!("late");
    await until(() => link.isUp(), "the link to be up");
    const again = ask();
    answers[1]!("in time");
    assert.equal(await again, "in time");
    assert.deepEqual([seen, opened()], [["up", "up"], 1], "nobody was told of a loss");
  });

  it("is given up when nothing comes, and opened again", async (t) => {
    const { link, seen, late, opened } = linked(t);
    await link.tried;
    await late();
    await until(() => opened() === 2 && link.isUp(), "another connection");
    assert.deepEqual(seen, ["up", "closed", "away: no answer within 15 ms", "back", "up"]);
  });

  it("is given up when answers are late again and again", async (t) => {
    const { link, answers, seen, late } = linked(t);
    await link.tried;
    for (let at = 0; at < 3; at++) {
      await late();
      answers[at]!("late");
      await until(() => link.isUp(), "the link to be up");
    }
    await late();
    assert.deepEqual(seen.slice(-2), ["closed", "away: no answer within 15 ms"]);
    answers[3]!("of a connection that is gone");
    await until(() => seen.at(-1) === "up", "another connection");
    assert.equal(seen.filter((one) => one === "back").length, 1);
  });
});
