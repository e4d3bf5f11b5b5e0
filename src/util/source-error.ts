import { UserError } from "./user-error.ts";

/** A source cannot be used now. The message is one line that begins with the part at fault, and never holds a token. */
export class SourceError extends UserError {
  override name = "SourceError";
}
