/** Requests to the admin listener, each with a timeout; the token that they carry, and its form. */

import { byId, fill } from "./dom.ts";
import { duration } from "./format.ts";

export interface Failure {
  /** `gone`: no answer. `slow`: the timeout passed. `token`: the server requires a token, or another one. `other`: another answer. */
  readonly kind: "gone" | "slow" | "token" | "other";
  readonly text: string;
  /** Whether the request carried a token. */
  readonly wasSent?: boolean;
}

type Answer<Value> = { value: Value; failure?: undefined } | { value?: undefined; failure: Failure };

/** Name of the token in this tab's session storage, which ends with the tab. It goes into no URL. */
const STORED = "orrery-admin-token";

/** Storage throws if it is turned off: the token then stays in memory alone. */
function inStorage<Value>(use: (storage: Storage) => Value): Value | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}

let token = inStorage((storage) => storage.getItem(STORED)) ?? undefined;

/** Keeps a token from now on, or forgets the old one. */
function keepToken(given: string | undefined): void {
  token = given;
  inStorage((storage) => (token === undefined ? storage.removeItem(STORED) : storage.setItem(STORED, token)));
}

/** Shows the form in place of the figures. @param wasSent whether a token was refused */
export function showSignIn(wasSent: boolean | undefined): void {
  const form = byId("sign-in");
  if (wasSent) {
    keepToken(undefined);
    fill(byId("token-problem"), "The server refused this token.");
  }
  byId("forget").hidden = byId("content").hidden = true;
  if (!form.hidden) return;
  form.hidden = false;
  byId("token").focus();
}

export function hideSignIn(): void {
  const form = byId("sign-in");
  const content = byId("content");
  content.hidden = false;
  // The head of the page stays in sight.
  if (!form.hidden) content.focus({ preventScroll: true });
  form.hidden = true;
  byId("forget").hidden = token === undefined;
}

/** Connects the form. @param again called when the token has changed */
export function startSigningIn(again: () => void): void {
  byId("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = byId<HTMLInputElement>("token");
    fill(byId("token-problem"), "");
    // The field takes no text that a header cannot carry.
    keepToken(field.value.trim());
    field.value = "";
    again();
  });
  byId("forget").addEventListener("click", () => {
    keepToken(undefined);
    again();
  });
}

/** Longest error message, which may come from any proxy between here and the server. */
const MOST_MESSAGE = 300;

/** What is wrong with another answer. @param status 0 for a redirect */
function describe(status: number, value: unknown): string {
  if (status === 0)
    return "Something before the server leads elsewhere, such as to a sign-in. Load the page again.";
  if (status === 200) return "The server answers with something that this page does not know.";
  const error = (value as { error?: unknown } | null | undefined)?.error;
  return `The server answers ${status}${typeof error === "string" ? `: ${error.slice(0, MOST_MESSAGE)}` : ""}.`;
}

/**
 * Sends a request and returns the JSON of a 200, which is not checked. @param path relative to the page, so that a proxy can
 * serve both below its own path @param limitMs timeout of the whole answer
 */
export async function ask<Value>(
  method: "GET" | "POST",
  path: string,
  limitMs: number,
): Promise<Answer<Value>> {
  const wasSent = token !== undefined;
  const headers: Record<string, string> = { accept: "application/json" };
  if (wasSent) headers.authorization = `Bearer ${token}`;
  if (method === "POST") headers["x-orrery-admin"] = "1";
  const signal = AbortSignal.timeout(limitMs);
  const fixed = { cache: "no-store", credentials: "same-origin", redirect: "manual" } as const;
  try {
    const response = await fetch(path, { method, headers, signal, ...fixed });
    const { status } = response;
    const value: unknown = await response.json().catch((error: unknown) => {
      // Not JSON, such as the page of a proxy: the status tells more.
      if (error instanceof SyntaxError) return undefined;
      throw error;
    });
    if (status === 200 && typeof value === "object" && value !== null) return { value: value as Value };
    if (status !== 401) return { failure: { kind: "other", text: describe(status, value) } };
    return { failure: { kind: "token", text: "The server asks for a token.", wasSent } };
  } catch {
    if (!signal.aborted) return { failure: { kind: "gone", text: "The server does not answer." } };
    const text = `The server did not answer within ${duration(limitMs / 1000)}.`;
    return { failure: { kind: "slow", text } };
  }
}
