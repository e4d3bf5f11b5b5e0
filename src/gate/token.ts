/** From an Authorization header to a key. */

import type { FaultName } from "../fault.ts";
import type { Key, KeyKind, KeyRing } from "./keys.ts";

/** How the kind of a token is told. */
export interface Prefixes {
  readonly api: string;
  readonly cli: string;
}

const BEARER = /^bearer +/i;
/** As nearly everybody writes it. */
const USUAL = "Bearer ";
const SPACE = 0x20;

/** What stands behind the scheme; undefined when that is another one. */
function tokenOf(authorization: string): string | undefined {
  if (authorization.startsWith(USUAL) && authorization.charCodeAt(USUAL.length) !== SPACE) {
    return authorization.length > USUAL.length ? authorization.slice(USUAL.length) : undefined;
  }
  const scheme = BEARER.exec(authorization);
  return scheme === null ? undefined : authorization.slice(scheme[0].length);
}

function kindOf(token: string, prefixes: Prefixes): KeyKind | undefined {
  if (token.startsWith(prefixes.api) && token.length > prefixes.api.length) return "api";
  if (token.startsWith(prefixes.cli) && token.length > prefixes.cli.length) return "cli";
  return undefined;
}

/**
 * Finds the key that a header names and judges whether it is valid now.
 *
 * A record is found only by a token of its own kind's prefix. Activity and
 * expiry are judged at each request, so the verdict may not be kept.
 *
 * @param now milliseconds since the epoch
 */
export function findKey(
  authorization: string | undefined,
  prefixes: Prefixes,
  ring: KeyRing,
  now: number,
): Key | FaultName {
  if (authorization === undefined) return "noToken";
  const token = tokenOf(authorization);
  const kind = token === undefined ? undefined : kindOf(token, prefixes);
  if (token === undefined || kind === undefined) return "tokenFormat";
  const key = ring.find(token);
  if (kind === "cli") {
    if (key === undefined || key.kind !== "cli" || !key.active) return "cliTokenUnknown";
    return key.expiresAt <= now ? "cliTokenExpired" : key;
  }
  if (key === undefined || key.kind !== "api") return "apiKeyUnknown";
  if (!key.active) return "apiKeyInactive";
  return key.expiresAt <= now ? "apiKeyExpired" : key;
}
