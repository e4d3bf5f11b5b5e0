/** The form for the admin token, shown when the server asks for one. */

import { byId, setText, show } from "./dom.ts";
import { heldToken, holdToken, isToken } from "./token.ts";

/** Shows the form in place of the figures. */
export function showSignIn(wasSent: boolean): void {
  const form = byId("sign-in");
  if (wasSent) holdToken(undefined);
  show(byId("forget"), false);
  show(byId("content"), false);
  if (wasSent) setText(byId("token-problem"), "The server refused this token.");
  if (!form.hidden) return;
  show(form, true);
  byId("token").focus();
}

/** Hides it again. */
export function hideSignIn(): void {
  const wasShown = !byId("sign-in").hidden;
  show(byId("sign-in"), false);
  show(byId("content"), true);
  // Where the head of the page stays in sight.
  if (wasShown) byId("content").focus({ preventScroll: true });
  show(byId("forget"), heldToken() !== undefined);
}

/**
 * Makes the form work.
 *
 * @param again what to do when the token is another
 */
export function startSigningIn(again: () => void): void {
  byId("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = byId<HTMLInputElement>("token");
    const token = field.value.trim();
    if (!isToken(token)) {
      setText(byId("token-problem"), "A token has no spaces and no letters beyond ASCII.");
      return;
    }
    field.value = "";
    setText(byId("token-problem"), "");
    holdToken(token);
    again();
  });
  byId("forget").addEventListener("click", () => {
    holdToken(undefined);
    again();
  });
}
