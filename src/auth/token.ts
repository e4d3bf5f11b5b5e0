/** From an Authorization header to a key. */

import type { FaultName } from "../model/fault.ts";
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

/** The token after the scheme; undefined for another scheme. */
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
 * Finds the key that a header names, valid or not: {@link judgeKey} says that.
 *
 * A record is found only by a token of its own kind's prefix.
 */
export function findKey(
  authorization: string | undefined,
  prefixes: Prefixes,
  ring: KeyRing,
): Key | FaultName {
  if (authorization === undefined) return "noToken";
  const token = tokenOf(authorization);
  const kind = token === undefined ? undefined : kindOf(token, prefixes);
  if (token === undefined || kind === undefined) return "tokenFormat";
  const key = ring.find(token);
  if (key !== undefined && key.kind === kind) return key;
  return kind === "cli" ? "cliTokenUnknown" : "apiKeyUnknown";
}

/**
 * Why a key is not valid now, if it is not. To be judged at each request: the verdict may not be kept.
 *
 * @param now milliseconds since the epoch
 */
export function judgeKey({ kind, active, expiresAt }: Key, now: number): FaultName | undefined {
  // A deactivated CLI token is answered as one that nobody has.
  if (!active) return kind === "cli" ? "cliTokenUnknown" : "apiKeyInactive";
  if (expiresAt > now) return undefined;
  return kind === "cli" ? "cliTokenExpired" : "apiKeyExpired";
}
