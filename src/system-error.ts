/** Errors of the operating system, for people. */

import { getSystemErrorMap } from "node:util";

/** The code of an error of the system, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** An error of the system in words with its code behind them, such as `no space left on device (ENOSPC)`; undefined for others. */
export function systemErrorText(error: unknown): string | undefined {
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return undefined;
  const words = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  return words === undefined ? `${code} in ${syscall}` : `${words} (${code})`;
}
