/** Making keys. */

import { randomBytes } from "node:crypto";
import { SCOPES } from "../model/model.ts";
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

/** Makes a key: its token, which is stored nowhere, and its record for a keys file. */
export function makeKey(key: NewKey): { readonly token: string; readonly record: KeyRecord } {
  const token = key.prefix + randomBytes(32).toString("base64url");
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
