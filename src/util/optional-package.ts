/** Packages that a single feature needs, which orrery does not bring. */

import { codeOf } from "./system-error.ts";

/** Node also reports a package that this user cannot read as missing, or with EACCES. */
const UNUSABLE: ReadonlySet<string | undefined> = new Set([
  "ERR_MODULE_NOT_FOUND",
  "MODULE_NOT_FOUND",
  "EACCES",
]);

/**
 * The error to throw when optional packages cannot be imported. Import them in a `try` block: bundlers let them be missing there.
 * @param fail makes an error that says what to do: a sentence without its subject
 */
export function importFailure(
  names: readonly string[],
  error: unknown,
  fail: (what: string) => Error,
): unknown {
  if (!UNUSABLE.has(codeOf(error))) return error;
  const what = names.length === 1 ? "a package that is" : "packages that are";
  const why = codeOf(error) === "EACCES" ? ` (${(error as Error).message})` : "";
  const command = `npm install ${names.join(" ")} (with --global where orrery was)`;
  return fail(`needs ${what} not installed${why}: ${command}`);
}
