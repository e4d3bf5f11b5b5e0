/** Other servers of the API on the command line. */

import { CommandError, UsageError } from "../cli/options.ts";
import { SourceError } from "../util/source-error.ts";
import { systemErrorText } from "../util/system-error.ts";
import { ApiUrlError, readApiUrl } from "./address.ts";

/** Reads the address of a server. @throws {UsageError} naming the setting */
export function readServer(address: string, name: string): string {
  try {
    return readApiUrl(address);
  } catch (error) {
    if (!(error instanceof ApiUrlError)) throw error;
    throw new UsageError(`${name}: ${error.message}`);
  }
}

/** An error as what a command says of it; defects stay what they are. @param place what the command works on */
export function explainUpstream(error: unknown, place: string): unknown {
  if (error instanceof SourceError) return new CommandError(error.message);
  const why = systemErrorText(error);
  return why === undefined ? error : new CommandError(`${place}: ${why}`);
}
