/** A source cannot be used now; the message is a line that begins with what is at fault. It never holds a token. */
export class SourceError extends Error {
  override name = "SourceError";
  /** Trying again at once is of no use. */
  readonly isLasting: boolean;
  /** Milliseconds after which the server wants to be asked again, if it said so. */
  readonly retryAfterMs: number | undefined;
  /** The answer's status, if that was wrong. */
  readonly status: number | undefined;

  constructor(message: string, { isLasting = false, retryAfterMs, status }: SourceErrorOptions = {}) {
    super(message);
    this.isLasting = isLasting;
    this.retryAfterMs = retryAfterMs;
    this.status = status;
  }
}

interface SourceErrorOptions {
  readonly isLasting?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly status?: number | undefined;
}
