/** Signals change hands without a moment in which nobody listens: node would drop one that is on its way. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CommandIo } from "../src/cli/command.ts";
import { openConsole } from "../src/cli/console.ts";
import { takeSignals } from "../src/cli/serve.ts";
import { observeNothing } from "../src/observe/events.ts";
import { holdSignals, IGNORED_SIGNALS, STOP_SIGNALS } from "../src/util/process/early-signals.ts";

const WORLD: CommandIo = {
  ...{ environment: {}, print: () => true, deliver: async () => {}, complain: () => {}, isTerminal: false },
  exit: () => assert.fail("it ended the process"),
};

test("from the first listener on there is always one, and in the end one of each signal", async (t) => {
  const signals = [...STOP_SIGNALS, "SIGHUP", ...IGNORED_SIGNALS];
  const without: string[] = [];
  const removed = (name: string | symbol): void => {
    if (process.listenerCount(name) === 0) without.push(String(name));
  };
  t.after(() => {
    process.off("removeListener", removed);
    for (const signal of signals) process.removeAllListeners(signal);
  });
  // As `launch.mjs` does it.
  for (const signal of signals) process.on(signal, () => {});
  process.on("removeListener", removed);

  holdSignals(() => assert.fail("it ended the process"));
  assert.deepEqual(
    signals.map((signal) => process.listenerCount(signal)),
    signals.map(() => 1),
  );
  takeSignals(WORLD, { console: await openConsole(), observe: observeNothing });
  assert.deepEqual(
    signals.map((signal) => process.listenerCount(signal)),
    signals.map(() => 1),
  );
  assert.deepEqual(without, []);
});
