/** Masks tokens in texts of clients. */

export type TokenPrefixes = Readonly<Record<"api" | "cli", string>>;

/** Index behind the first prefix in a text, in letters of any case, since folding changes them; -1 if there is none. */
function endOfPrefix(text: string, { api, cli }: TokenPrefixes): number {
  const small = text.toLowerCase();
  let end = -1;
  for (const prefix of [api, cli]) {
    const at = small.indexOf(prefix.toLowerCase());
    if (at >= 0 && (end < 0 || at + prefix.length < end)) end = at + prefix.length;
  }
  return end;
}

export function holdsToken(text: string, prefixes: TokenPrefixes): boolean {
  return endOfPrefix(text, prefixes) >= 0;
}

/** Percent-encodings of a text, one over the other, that are read. No honest client has so many. */
const MAX_LEVELS = 4;

/** Whether a prefix appears once a text is decoded, at any level; true as well if it has too many levels. */
function mayHideToken(text: string, prefixes: TokenPrefixes): boolean {
  if (!text.includes("%")) return false;
  let plain = text;
  for (let level = 0; level < MAX_LEVELS; level++) {
    const before = plain;
    // Reads `%u0073`, too, as `escape()` writes characters that are not Latin.
    plain = unescape(before);
    if (plain === before) return false;
    if (holdsToken(plain, prefixes)) return true;
  }
  return unescape(plain) !== plain;
}

/** Masks possible tokens in a part of a text: everything after a prefix, or the whole part if percent-escapes hide a prefix. */
function masked(part: string, prefixes: TokenPrefixes): string {
  const end = endOfPrefix(part, prefixes);
  const shown = end < 0 ? part : part.slice(0, end);
  if (mayHideToken(shown, prefixes)) return "***";
  return end < 0 || end === part.length ? part : `${shown}***`;
}

/** A text without the rest of its tokens. @param separator of the parts of the text: a token ends there */
export function maskedTokens(text: string, separator: string, prefixes: TokenPrefixes): string {
  const parts = text.split(separator).map((part) => masked(part, prefixes));
  return parts.join(separator);
}
