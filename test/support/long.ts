/** How much of a suite runs: `npm test` runs a part of each random test, `test/all/again.test.ts` more of it. */

import assert from "node:assert/strict";

export const IS_LONG = process.env.ORRERY_TEST_LONG === "1";

const SHORT_PART = 0.15;

/** Number of runs of a property, or the minimum that they must find: all in the long form, a small part in the short one. */
export function part(all: number): number {
  return IS_LONG ? all : Math.ceil(all * SHORT_PART);
}

/** Many, since a round may find no rare event at all. */
const MOST_ROUNDS = 24;

/**
 * Tries random inputs in rounds until enough was covered. A few inputs of one round may miss their aim by bad luck;
 * many rounds miss it only if the generator of the inputs is wrong.
 *
 * @param round tries some inputs and counts what they covered
 * @param what describes the coverage so far, for the failure after the last round
 */
export async function untilCovered(
  round: () => unknown,
  isEnough: () => boolean,
  what: () => string,
): Promise<void> {
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds++) {
    await round();
    if (isEnough()) return;
  }
  assert.fail(`too little is covered after ${MOST_ROUNDS} rounds: ${what()}`);
}
