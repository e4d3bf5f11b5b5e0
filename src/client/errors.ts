/** What a call of the client rejects with. None of it ever holds the token. */

/** Any failure of a request, after all tries. A call that was aborted rejects with its signal's reason instead. */
export class OrreryError extends Error {
  override name = "OrreryError";
}

/** The server answered with an error, or with something that is no answer of this API. */
export class ApiError extends OrreryError {
  override name = "ApiError";
  /** The HTTP status: 401, 403, 404, … Declared alone: the constructor makes it. */
  declare readonly status: number;

  /** @param message what the server says under `error` */
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The key's requests of this window are used up, and to wait for the next one would exceed `maxWaitMs`. */
export class RateLimitError extends ApiError {
  override name = "RateLimitError";
  /** How long the server asks to wait, in milliseconds. */
  declare readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(429, message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server serves other data than at the beginning of a list, so that its pages do not fit together any more. */
export class SnapshotChangedError extends ApiError {
  override name = "SnapshotChangedError";

  constructor(message: string) {
    super(412, message);
  }
}

/** No server was reached, or it broke off in the middle of its answer. */
export class NetworkError extends OrreryError {
  override name = "NetworkError";
}
