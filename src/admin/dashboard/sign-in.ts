/** The form for the admin token, shown when the server asks for one. */

import { holdsToken, holdToken, isToken } from "./ask.ts";
import { byId, setText, show } from "./dom.ts";

/** Shows the form in place of the figures. */
export function showSignIn(wasSent: boolean): void {
  const form = byId("sign-in");
  if (wasSent) {
    holdToken(undefined);
    setText(byId("token-problem"), "The server refused this token.");
  }
  show(byId("forget"), false);
  show(byId("content"), false);
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
  show(byId("forget"), holdsToken());
}

/** Makes the form work. @param again called when the token is another */
export function startSigningIn(again: () => void): void {
  byId("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = byId<HTMLInputElement>("token");
    const token = field.value.trim();
    const isUsable = isToken(token);
    setText(byId("token-problem"), isUsable ? "" : "A token has no spaces and no letters beyond ASCII.");
    if (!isUsable) return;
    field.value = "";
    holdToken(token);
    again();
  });
  byId("forget").addEventListener("click", () => {
    holdToken(undefined);
    again();
  });
}
