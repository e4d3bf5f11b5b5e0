/** How much of a suite runs: `npm test` tries a part of what it could, `test/all/long-forms.test.ts` all of it. */

export const IS_LONG = process.env.ORRERY_TEST_LONG === "1";

const SHORT_PART = 0.25;

/** Runs of a property, or how much they must at least have found: all in the long form, a quarter in the short one. */
export function part(all: number): number {
  return IS_LONG ? all : Math.ceil(all * SHORT_PART);
}
