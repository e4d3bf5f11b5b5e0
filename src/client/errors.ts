/** The errors of client calls. None ever holds the token. */

/** Any failure of a request, after all retries. A call that was aborted rejects with its signal's reason instead. */
export class OrreryError extends Error {
  override name = "OrreryError";
}

/** The server answered with an error, or with something other than an answer of this API. */
export class ApiError extends OrreryError {
  override name = "ApiError";
  /** The HTTP status: 401, 403, 404, … Only declared here: the constructor sets it. */
  declare readonly status: number;

  /** @param message the server's text under `error` */
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The key's requests of this window are used up, and waiting for the next one would exceed `maxWaitMs`. */
export class RateLimitError extends ApiError {
  override name = "RateLimitError";
  /** The wait that the server asks for, in milliseconds. */
  declare readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(429, message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server serves other data than at the beginning of a list, so that its pages no longer fit together. */
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
