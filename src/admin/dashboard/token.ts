/**
 * The admin token, where the server asks for one: kept in memory and, so that the page can be reloaded, in this
 * tab's session storage, which ends with the tab. It goes into no URL.
 */

const NAME = "orrery-admin-token";

let held: string | undefined = stored();

/** Storage may be turned off, and then throws. */
function stored(): string | undefined {
  try {
    return sessionStorage.getItem(NAME) ?? undefined;
  } catch {
    return undefined;
  }
}

/** What requests carry, if any. */
export function heldToken(): string | undefined {
  return held;
}

/** Whether a text can be sent as a bearer token; others cannot be part of a header at all. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]{1,4096}$/.test(text);
}

/** Keeps a token from now on, or forgets it. */
export function holdToken(token: string | undefined): void {
  held = token;
  try {
    if (token === undefined) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, token);
  } catch {
    // In memory it stays.
  }
}
