import { getSystemErrorMap } from "node:util";
import { PlaceError } from "./user-error.ts";

/** The code of a system error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** A system error in words, followed by its code, such as `no space left on device (ENOSPC)`; undefined for other errors. */
export function systemErrorText(error: unknown): string | undefined {
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return undefined;
  if (code === "ENOTFOUND") return "the host name does not resolve (ENOTFOUND)";
  const words = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  return words === undefined ? `${code} in ${syscall}` : `${words} (${code})`;
}

/** Why a file, folder or call failed, in words; a defect as text. */
export function problemText(error: unknown): string {
  return error instanceof PlaceError ? error.message : (systemErrorText(error) ?? String(error));
}

/** Error codes of Node, Bun and Deno for a missing file or package of the program. */
const MISSING_FILES: ReadonlySet<string | undefined> = new Set([
  "ERR_MODULE_NOT_FOUND",
  "MODULE_NOT_FOUND",
  "ERR_PACKAGE_PATH_NOT_EXPORTED",
]);

/** A line about a damaged installation: a file is missing or truncated. @param why only its first line is used */
export function damaged(why: string): string {
  return `the installation is damaged, install it again: ${why.split("\n")[0]}`;
}

/** A line about an error from a damaged installation: a file of the program is missing or truncated. Undefined for others. */
export function damageOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const isDamage = MISSING_FILES.has(codeOf(error)) || (error instanceof SyntaxError && isOfModule(error));
  return isDamage ? damaged(error.message) : undefined;
}

/** Whether a file of the program could not be parsed: the stack begins with its path, or with node's module loader. */
function isOfModule({ stack = "" }: SyntaxError): boolean {
  return (
    /^(file:|\/|[A-Z]:)/.test(stack) ||
    /^\s+at .*/m.exec(stack)?.[0].includes("node:internal/modules/") === true
  );
}
