/**
 * Changes of one line that the tests must notice. `npm run mutants` applies
 * each and runs the tests that it names; see tools/mutants.ts.
 */

/** A test file, and words that the names of the tests in it hold. */
export type NamedTests = readonly [file: string, name: string];

/** One change. */
export interface Mutant {
  /** What is wrong then. */
  readonly breaks: string;
  /** From the root of the tree. */
  readonly file: string;
  /** Text that stands once in the file. */
  readonly text: string;
  readonly becomes: string;
  /** Each of them must fail. */
  readonly tests: readonly NamedTests[];
}

/**
 * A file's text with a change.
 *
 * @throws when the text to replace does not stand there exactly once
 */
export function mutate(source: string, { breaks, file, text, becomes }: Mutant): string {
  const parts = source.split(text);
  if (parts.length !== 2) throw new Error(`${breaks}: ${file} holds ${parts.length - 1} times: ${text}`);
  return parts.join(becomes);
}

/** Every change. */
export const MUTANTS: readonly Mutant[] = [
  {
    breaks: "counts are stored without a comparison",
    file: "src/gate/limit.ts",
    text: "if (Atomics.compareExchange(cells, slot, cell, whole[1]!) === cell) {",
    becomes: "if (Atomics.store(cells, slot, whole[1]!) !== undefined) {",
    tests: [["test/limit.test.ts", "let exactly the limit pass in each window"]],
  },
];
