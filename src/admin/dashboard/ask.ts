/** Requests to the admin listener, which end in time whatever it does. */

import { heldToken } from "./token.ts";

/** Why there is no answer. */
export type Failure =
  /** Nobody answers: the server is gone, or the network. */
  | { readonly kind: "gone" }
  /** It answers too slowly. */
  | { readonly kind: "slow"; readonly ms: number }
  /** It wants a token, or another one. */
  | { readonly kind: "token"; readonly wasSent: boolean }
  /** It answers with something else; with a status of 0 by leading elsewhere, as proxies do that want a sign-in. */
  | { readonly kind: "other"; readonly status: number; readonly message: string };

/** An answer in JSON: `value` is what came, which is not checked. */
export interface Answer {
  readonly status: number;
  readonly value: unknown;
}

/** A {@link Failure} as it is thrown. */
export class AskError extends Error {
  override name = "AskError";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.kind);
    this.failure = failure;
  }
}

/** Of an error's text, which may come from anything between here and the server. */
const MOST_MESSAGE = 300;

function messageOf(value: unknown): string {
  const text = (value as { error?: unknown } | null)?.error;
  return typeof text === "string" ? text.slice(0, MOST_MESSAGE) : "";
}

function headersOf(method: string): Record<string, string> {
  const headers: Record<string, string> = { accept: "application/json" };
  const token = heldToken();
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (method === "POST") headers["x-orrery-admin"] = "1";
  return headers;
}

/**
 * Sends a request.
 *
 * @param path relative to the page, so that a proxy can put both below a path of its own
 * @param accepted statuses that are answers; all others are failures
 * @param limitMs in which the whole answer must have arrived
 * @throws {AskError}
 */
export async function ask(
  method: "GET" | "POST",
  path: string,
  accepted: readonly number[],
  limitMs: number,
): Promise<Answer> {
  const headers = headersOf(method);
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), limitMs);
  let response: Response;
  let value: unknown;
  try {
    response = await fetch(path, {
      method,
      headers,
      cache: "no-store",
      credentials: "same-origin",
      redirect: "manual",
      signal: controller.signal,
    });
    value = await response.json().catch((error: unknown) => {
      // Not JSON, such as the page of a proxy: the status tells more.
      if (error instanceof SyntaxError) return undefined;
      throw error;
    });
  } catch {
    throw new AskError(controller.signal.aborted ? { kind: "slow", ms: limitMs } : { kind: "gone" });
  } finally {
    clearTimeout(timer);
  }
  const { status } = response;
  if (accepted.includes(status) && typeof value === "object" && value !== null) return { status, value };
  if (status === 401) throw new AskError({ kind: "token", wasSent: headers.authorization !== undefined });
  throw new AskError({ kind: "other", status, message: messageOf(value) });
}
