import { getSystemErrorMap } from "node:util";

/** The code of an error of the system, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** An error of the system in words, followed by its code, such as `no space left on device (ENOSPC)`; undefined for others. */
export function systemErrorText(error: unknown): string | undefined {
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return undefined;
  const words = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  return words === undefined ? `${code} in ${syscall}` : `${words} (${code})`;
}

/** Codes of Node's, Bun's and Deno's errors where a file or package of the program is not there. */
const MISSING_FILES: ReadonlySet<string | undefined> = new Set([
  "ERR_MODULE_NOT_FOUND",
  "MODULE_NOT_FOUND",
  "ERR_PACKAGE_PATH_NOT_EXPORTED",
]);

/** A line for an installation of which something is missing or cut off. @param why may have more lines */
export function damaged(why: string): string {
  return `the installation is damaged, install it again: ${why.split("\n")[0]}`;
}

/** A line for an error that tells of a damaged installation: a file of the program is missing or cut off. */
export function damageOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (!MISSING_FILES.has(codeOf(error)) && !(error instanceof SyntaxError && isOfModule(error)))
    return undefined;
  return damaged(error.message);
}

/** Whether a file of the program could not be parsed: the stack begins with its place, or with what loads modules. */
function isOfModule({ stack = "" }: SyntaxError): boolean {
  return (
    /^(file:|\/|[A-Z]:)/.test(stack) ||
    /^\s+at .*/m.exec(stack)?.[0].includes("node:internal/modules/") === true
  );
}
