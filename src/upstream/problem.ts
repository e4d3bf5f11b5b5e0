/** What goes wrong with a server that is asked, in words. */

import { SourceError } from "../util/source-error.ts";
import { codeOf, systemErrorText } from "../util/system-error.ts";

/** A text of another server without the token that it was sent. To be called before the text is cut short. */
export function withoutToken(text: string, token: string): string {
  return token === "" ? text : text.replaceAll(token, "…");
}

/** A file is not what the manifest says of it: one of the two may be of another snapshot. */
export class MismatchError extends SourceError {
  override name = "MismatchError";

  constructor(message: string) {
    super(message, { isLasting: true });
  }
}

/** An error of `fetch` in words: what the system or the runtime says. Neither quotes a header. */
export function networkProblem(error: unknown): string {
  let found = error;
  // Node and Deno tell the reason in causes; of several addresses Node names one error each.
  for (let depth = 0; depth < 5 && found instanceof Error; depth++) {
    const words = systemErrorText(found);
    if (words !== undefined) return words;
    const next: unknown = found instanceof AggregateError ? found.errors[0] : found.cause;
    if (!(next instanceof Error)) break;
    found = next;
  }
  if (!(found instanceof Error)) return "the connection failed";
  const code = codeOf(found);
  // OpenSSL's messages hold places in its code; its reason stands alone.
  const { reason } = found as { reason?: unknown };
  const [line = ""] = (typeof reason === "string" ? `TLS: ${reason}` : found.message).split("\n");
  return code === undefined || line.includes(code) ? line : `${line} (${code})`;
}
