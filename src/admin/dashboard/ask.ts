/** Requests to the admin listener, which end in time whatever it does, and the token that they carry. */

/** Why there is no answer. */
export type Failure =
  /** Nobody answers: the server is gone, or the network. */
  | { readonly kind: "gone" }
  /** It answers too slowly. */
  | { readonly kind: "slow"; readonly ms: number }
  /** It wants a token, or another one. */
  | { readonly kind: "token"; readonly wasSent: boolean }
  /** Another answer; a status of 0 is a redirect, as of a proxy that wants a sign-in. */
  | { readonly kind: "other"; readonly status: number; readonly message: string };

/** A {@link Failure} as it is thrown. */
export class AskError extends Error {
  override name = "AskError";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.kind);
    this.failure = failure;
  }
}

/** Name of the token in this tab's session storage, which ends with the tab. It goes into no URL. */
const STORED = "orrery-admin-token";

/** Storage may be turned off, and then throws: the token stays in memory. */
function inStorage<Value>(use: (storage: Storage) => Value): Value | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}

let held = inStorage((storage) => storage.getItem(STORED)) ?? undefined;

/** Whether requests carry a token. */
export function holdsToken(): boolean {
  return held !== undefined;
}

/** Whether a text can be sent as a bearer token; others cannot be part of a header at all. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]{1,4096}$/.test(text);
}

/** Keeps a token from now on, or forgets it. */
export function holdToken(token: string | undefined): void {
  held = token;
  inStorage((storage) => (token === undefined ? storage.removeItem(STORED) : storage.setItem(STORED, token)));
}

/** Longest text of an error, which may come from anything between here and the server. */
const MOST_MESSAGE = 300;

function messageOf(value: unknown): string {
  const text = (value as { error?: unknown } | null | undefined)?.error;
  return typeof text === "string" ? text.slice(0, MOST_MESSAGE) : "";
}

/**
 * Sends a request and gives the JSON of a 200, which is not checked.
 *
 * @param path relative to the page, so that a proxy can put both below a path of its own
 * @param limitMs in which the whole answer must have arrived
 * @throws {AskError}
 */
export async function ask<Value>(method: "GET" | "POST", path: string, limitMs: number): Promise<Value> {
  const wasSent = held !== undefined;
  const headers: Record<string, string> = { accept: "application/json" };
  if (wasSent) headers.authorization = `Bearer ${held}`;
  if (method === "POST") headers["x-orrery-admin"] = "1";
  const signal = AbortSignal.timeout(limitMs);
  const fixed = { cache: "no-store", credentials: "same-origin", redirect: "manual" } as const;
  let status: number;
  let value: unknown;
  try {
    const response = await fetch(path, { method, headers, signal, ...fixed });
    status = response.status;
    value = await response.json().catch((error: unknown) => {
      // Not JSON, such as the page of a proxy: the status tells more.
      if (error instanceof SyntaxError) return undefined;
      throw error;
    });
  } catch {
    throw new AskError(signal.aborted ? { kind: "slow", ms: limitMs } : { kind: "gone" });
  }
  if (status === 200 && typeof value === "object" && value !== null) return value as Value;
  if (status === 401) throw new AskError({ kind: "token", wasSent });
  throw new AskError({ kind: "other", status, message: messageOf(value) });
}

/** Runs work that asks. @param told of the failure when there was no answer */
export async function orTell(work: () => Promise<void>, told: (failure: Failure) => void): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    told(error.failure);
  }
}
