import { ToldError } from "./told-error.ts";

/** A source cannot be used now. The message is one line that begins with the part at fault, and never holds a token. */
export class SourceError extends ToldError {
  override name = "SourceError";
  /** An immediate retry is useless. */
  readonly isLasting: boolean;
  /** Milliseconds to wait before a retry, if the server gave them. */
  readonly retryAfterMs: number | undefined;
  /** The status of the reply, if that was at fault. */
  readonly status: number | undefined;

  constructor(
    message: string,
    { isLasting = false, retryAfterMs, status }: Partial<Omit<SourceError, keyof Error>> = {},
  ) {
    super(message);
    this.isLasting = isLasting;
    this.retryAfterMs = retryAfterMs;
    this.status = status;
  }
}
