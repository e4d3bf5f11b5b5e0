/** A place to run the program in: a folder with a snapshot and a keys file. */

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashToken, type KeyRecord, parseKeys } from "../../src/auth/keys.ts";
import type { TestKey } from "../conformance/model.ts";
import { temporaryFolder, writeSnapshot } from "./folders.ts";

export const TOKEN = "svc_sk_process-test-token-4711";

/** The record of a token: every scope, active, no expiry, unless `more` changes it. */
export function keyRecord(token: string, more: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id: `key_${token.slice(-6)}`,
    kind: token.startsWith("svcx_") ? "cli" : "api",
    name: "test",
    sha256: hashToken(token),
    scopes: ["read:worlds", "read:users", "read:instances"],
    limit: null,
    active: true,
    expiresAt: null,
    createdAt: "2026-01-01T00:00:00.000Z",
    ...more,
  };
}

/** Replaces a file in one step, as careful writers do. */
export function replace(file: string, contents: string | Buffer): void {
  writeFileSync(`${file}.new`, contents);
  renameSync(`${file}.new`, file);
}

export function writeKeys(file: string, ...records: KeyRecord[]): string {
  replace(file, JSON.stringify({ keys: records }));
  return file;
}

export function writeTestKeys(file: string, keys: readonly TestKey[]): string {
  return writeKeys(file, ...keys.map(({ token, ...more }) => keyRecord(token, more)));
}

export function readKeys(file: string): KeyRecord[] {
  return parseKeys(readFileSync(file, "utf8")).records;
}

/** A folder with a snapshot and a keys file, removed after the test. */
export function place(test: { after(done: () => void): void }) {
  const folder = temporaryFolder(test);
  const snapshot = writeSnapshot(join(folder, "snapshot"));
  const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
  return { folder, snapshot, keys };
}
