/** Making keys and their tokens. */

import { randomBytes } from "node:crypto";
import { SCOPES } from "../model/model.ts";
import { formatTime } from "../model/time.ts";
import { hashToken, type KeyKind, type KeyRecord } from "./keys.ts";

/** What a new key is to be. */
export interface NewKey {
  readonly name: string;
  readonly kind: KeyKind;
  readonly prefix: string;
  /** All three read scopes when absent. */
  readonly scopes?: readonly string[];
  readonly limit?: number | null;
  readonly expiresAt?: string | null;
}

/** Makes a token; it cannot be guessed. */
export function makeToken(prefix: string): string {
  return prefix + randomBytes(32).toString("base64url");
}

/** Makes a key: its token, which is stored nowhere, and its record for a keys file. */
export function makeKey(key: NewKey): { readonly token: string; readonly record: KeyRecord } {
  const token = makeToken(key.prefix);
  const record: KeyRecord = {
    id: `key_${randomBytes(8).toString("hex")}`,
    kind: key.kind,
    name: key.name,
    sha256: hashToken(token),
    scopes: [...(key.scopes ?? SCOPES)],
    limit: key.limit ?? null,
    active: true,
    expiresAt: key.expiresAt ?? null,
    createdAt: new Date().toISOString(),
  };
  return { token, record };
}

/**
 * A record with a new token.
 *
 * @param overlapMs how long the token before goes on working; 0 ends it and all earlier ones
 * @param now milliseconds since the epoch
 */
export function withToken(record: KeyRecord, token: string, overlapMs: number, now: number): KeyRecord {
  const { sha256, previous = [] } = record;
  const ended = { sha256, expiresAt: formatTime(now + overlapMs) };
  return { ...record, sha256: hashToken(token), previous: overlapMs === 0 ? [] : [...previous, ended] };
}
