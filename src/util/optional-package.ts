/** Packages that a single feature needs, which orrery does not bring. */

import { folderOfPackage } from "../install/package.ts";
import { codeOf } from "./system-error.ts";

const UNUSABLE: ReadonlySet<string | undefined> = new Set([
  "ERR_MODULE_NOT_FOUND",
  "MODULE_NOT_FOUND",
  "EACCES",
]);

/** A sentence without its subject: which packages are not installed, or cannot be read by this user. */
function whyUnusable(names: readonly string[]): string {
  const missing = names.filter((name) => folderOfPackage(name) === undefined);
  if (missing.length > 0) {
    const what = missing.length === 1 ? "a package that is" : "packages that are";
    return `needs ${what} not installed: npm install ${missing.join(" ")} (with --global where orrery was)`;
  }
  const folders = names.map((name) => folderOfPackage(name)!).join(" and ");
  return `cannot read all files of ${folders}: install again with umask 022, so that this user can read them`;
}

/**
 * The error to throw when optional packages cannot be imported. Import them in a `try` block: bundlers let them be missing there.
 *
 * @param fail makes an error that says what to do: a sentence without its subject
 */
export function importFailure(
  names: readonly string[],
  error: unknown,
  fail: (what: string) => Error,
): unknown {
  // Node reports a package that this user cannot read as missing.
  return UNUSABLE.has(codeOf(error)) ? fail(whyUnusable(names)) : error;
}
