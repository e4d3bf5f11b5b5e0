/** Prepared snapshots for tests: made from rows without threads, split into parts, and damaged. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { indexStore } from "../../src/search/search.ts";
import { PREPARED } from "../../src/snapshot/files.ts";
import { type Loaded, type LoadOptions, loadSnapshot } from "../../src/snapshot/load.ts";
import { PREFIX_BYTES } from "../../src/snapshot/prepared/head.ts";
import { takeApart } from "../../src/snapshot/prepared/layout.ts";
import { writePrepared } from "../../src/snapshot/prepared/write.ts";
import { sharedUint32 } from "../../src/store/bytes.ts";
import { mustLoad, problemsOf } from "./loaded.ts";

/** Loads rows and writes the prepared snapshot. */
export async function prepare(rows: string, to: string, manifest = false): Promise<Loaded> {
  const loaded = mustLoad(await loadSnapshot(rows));
  await writePrepared(to, loaded, loaded.index ?? indexStore(loaded.store), { manifest });
  return loaded;
}

/** Everything in a generation, array by array, in a comparable form. */
export function everythingIn({ store, index }: Pick<Loaded, "store" | "index">): Record<string, unknown> {
  const rest = { hiddenWorlds: sharedUint32(0), letters: sharedUint32(0), folding: 0 };
  const { values, arrays } = takeApart({ store, index: index ?? indexStore(store), ...rest });
  const shown = Array.from(arrays, ([path, array]): [string, unknown] => {
    assert.ok(array.buffer instanceof SharedArrayBuffer, path);
    const { buffer, byteOffset, byteLength } = array;
    const bytes = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
    return [path, `${Buffer.isBuffer(array) ? "Buffer" : array.constructor.name} ${bytes}`];
  });
  return { ...values, ...Object.fromEntries(shown) };
}

/** The one line with which a prepared file of these bytes is refused. */
export async function refusalOf(
  folder: string,
  bytes: Uint8Array,
  options: LoadOptions = {},
): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  writeFileSync(join(folder, PREPARED), bytes);
  const problems = problemsOf(await loadSnapshot(folder, options));
  assert.equal(problems.length, 1, problems.join("\n"));
  return problems[0]!;
}

/** An array in a head: path, type, place, bytes, checksum. */
export type Entry = [path: string, type: string, offset: number, bytes: number, crc32: string];

/** The head of a prepared file. */
export interface Head {
  values: Record<string, unknown>;
  arrays: Entry[];
  sources: unknown[];
  createdAt?: unknown;
}

export function partsOf(folder: string): { file: Buffer; head: Head; body: Buffer } {
  const file = readFileSync(join(folder, PREPARED));
  const end = PREFIX_BYTES + file.readUInt32LE(20);
  const head = JSON.parse(file.toString("utf8", PREFIX_BYTES, end)) as Head;
  return { file, head, body: file.subarray(end) };
}

type Parts = ReturnType<typeof partsOf>;

/** A prepared file with another head, whose checksums are right, whatever its contents. */
export function forge({ file, body }: Parts, head: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const end = Math.ceil((PREFIX_BYTES + text.length) / 64) * 64;
  const stored = Buffer.alloc(end, " ");
  file.copy(stored, 0, 0, PREFIX_BYTES);
  text.copy(stored, PREFIX_BYTES);
  stored.writeUInt32LE(end - PREFIX_BYTES, 20);
  stored.writeUInt32LE(crc32(stored.subarray(PREFIX_BYTES)), 24);
  stored.writeUInt32LE(crc32(stored.subarray(0, 28)), 28);
  return Buffer.concat([stored, body]);
}
