/** How much of a suite runs: `npm test` tries a part of what it could, `test/all/again.test.ts` all of it. */

import assert from "node:assert/strict";

export const IS_LONG = process.env.ORRERY_TEST_LONG === "1";

const SHORT_PART = 0.15;

/** Runs of a property, or how much they must at least have found: all in the long form, a small part in the short one. */
export function part(all: number): number {
  return IS_LONG ? all : Math.ceil(all * SHORT_PART);
}

const MOST_ROUNDS = 8;

/**
 * Tries random inputs in rounds until enough was covered. A few inputs of one round may miss what they are for by
 * bad luck; those of many rounds only do when what makes them is at fault.
 *
 * @param round tries some inputs and counts what they covered
 * @param what was covered until now, said when it is too little after the last round
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
