/** Loads a prepared file, with the result of a load of rows, and the index. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import zlib from "node:zlib";
import { ROW_FILES } from "../../model/model.ts";
import { copyMostPopular } from "../../store/build.ts";
import type { Store } from "../../store/generation.ts";
import { PlaceError } from "../../util/user-error.ts";
import { PREPARED } from "../files.ts";
import {
  addFault,
  type KeptPrepared,
  type LoadedFiles,
  type LoadInput,
  type LoadOptions,
} from "../loaded.ts";
import { compareWithManifest, type Manifest } from "../manifest.ts";
import { MAX_SNAPSHOT_BYTES, readAhead, TOO_LARGE } from "../read.ts";
import {
  aligned,
  bodyBytesOf,
  decodeHead,
  decodePrefix,
  hexOf,
  PREFIX_BYTES,
  type PreparedHead,
} from "./head.ts";
import { ARRAY_TYPES, type PreparedContents, putTogether, type StoredArray } from "./layout.ts";
import { foldingOf } from "./letters.ts";

/** Gives a store the generation name of the manifest, as for rows. */
function rename(store: Store, { generation }: Manifest): Store {
  if (generation === store.id) return store;
  const contents = createHash("sha256").update(`${store.contents}\n${generation}`).digest("hex");
  return { ...store, id: generation, contents };
}

/** Bytes that are read at once, while as many are checked: few enough not to delay requests noticeably. */
const PIECE_BYTES = 2 ** 19;

/** Fills memory with a file's bytes from `from` on. */
async function readInto(handle: FileHandle, memory: Uint8Array, from: number): Promise<void> {
  for (let done = 0; done < memory.length; ) {
    const { bytesRead } = await handle.read(memory, done, memory.length - done, from + done);
    if (bytesRead === 0) throw new PlaceError("is truncated");
    done += bytesRead;
  }
}

/** Fills memory with a file's bytes from `from` on, piece by piece. */
function piecesOf(handle: FileHandle, memory: Uint8Array, from: number): AsyncGenerator<Uint8Array, void> {
  let next = 0;
  return readAhead(async () => {
    const at = next;
    if (at === memory.length) return undefined;
    const piece = memory.subarray(at, at + PIECE_BYTES);
    next += piece.length;
    await readInto(handle, piece, from + at);
    return piece;
  });
}

/**
 * Reads the arrays of a head from `start` on, and checks the checksum of each. @param take receives all bytes, in order
 * @throws {PlaceError} saying what is wrong; any error of the file system
 */
async function readArrays(
  handle: FileHandle,
  head: PreparedHead,
  start: number,
  take: (bytes: Uint8Array) => void,
): Promise<Map<string, StoredArray>> {
  const arrays = new Map<string, StoredArray>();
  for (const [path, type, offset, bytes, crc32] of head.arrays) {
    // With its padding of zeros, which is read and checked as well.
    const memory = new Uint8Array(new SharedArrayBuffer(aligned(bytes)));
    arrays.set(path, ARRAY_TYPES[type](memory.buffer, bytes));
    let checksum = 0;
    for await (const piece of piecesOf(handle, memory, start + offset)) {
      take(piece);
      checksum = zlib.crc32(piece, checksum);
    }
    if (hexOf(checksum) !== crc32) throw new PlaceError(`${path} has a wrong checksum`);
  }
  return arrays;
}

async function readHead(handle: FileHandle, size: number): Promise<Buffer> {
  const prefix = Buffer.alloc(Math.min(size, PREFIX_BYTES));
  await readInto(handle, prefix, 0);
  const bytes = decodePrefix(prefix);
  if (size < PREFIX_BYTES + bytes) throw new PlaceError("is truncated");
  const json = Buffer.alloc(bytes);
  await readInto(handle, json, PREFIX_BYTES);
  return Buffer.concat([prefix, json]);
}

/** Refuses an index of text that this runtime folds otherwise. */
function checkFolding({ letters, folding }: PreparedContents): void {
  if (foldingOf(letters) === folding) return;
  throw new PlaceError(
    "its index was made with other Unicode data, which folds characters of this snapshot otherwise than this " +
      "runtime; build it again with this one",
  );
}

/**
 * Reads a file and checks its checksums. Allocates memory of the file's size, but only if its head fits that size.
 * @param hashes whether to hash the file
 * @throws {PlaceError} saying what is wrong; any error of the file system; the reason of the signal
 */
async function readPrepared(
  handle: FileHandle,
  fingerprint: string,
  hashes: boolean,
  { maxBytes = MAX_SNAPSHOT_BYTES, signal, onProgress }: LoadOptions,
) {
  const { size } = await handle.stat();
  if (size > maxBytes) throw new PlaceError(TOO_LARGE);
  const stored = await readHead(handle, size);
  const head = decodeHead(stored);
  const bytes = stored.length + bodyBytesOf(head);
  if (size < bytes) throw new PlaceError(`is truncated: ${size} of ${bytes} bytes are there`);
  if (size > bytes) throw new PlaceError(`there are ${size - bytes} bytes after its end`);

  const hash = hashes ? createHash("sha256") : undefined;
  let seen = 0;
  const take = (read: Uint8Array): void => {
    signal?.throwIfAborted();
    seen += read.length;
    onProgress?.(seen / size);
    hash?.update(read);
  };
  take(stored);
  const arrays = await readArrays(handle, head, stored.length, take);
  const contents = putTogether({ ...head, arrays });
  checkFolding(contents);

  const { store, index, hiddenWorlds } = contents;
  const kept: KeptPrepared = {
    fingerprint,
    bytes,
    sha256: hash?.digest("hex"),
    reports: head.sources,
    store: { id: store.id, contents: store.contents },
    createdAt: head.createdAt,
  };
  return { kept, store: { ...store, mostPopular: copyMostPopular(store) }, index, hiddenWorlds };
}

/**
 * Loads a prepared file, but does not read the served one again. Adds the reason to the problems when it cannot be used.
 * @throws errors of the file system; the reason of the signal
 */
export async function loadPrepared(input: LoadInput): Promise<LoadedFiles | undefined> {
  const { prepared, unchangedPrepared, fingerprints, manifest, began, problems, options } = input;
  const fingerprint = fingerprints.get(PREPARED)!;
  const read = unchangedPrepared
    ? { kept: unchangedPrepared, store: options.previous!.store, index: undefined, hiddenWorlds: undefined }
    : await readPrepared(prepared!, fingerprint, manifest !== undefined, options).catch(
        (error: unknown) => void addFault(PREPARED, error, problems),
      );
  if (read === undefined) return undefined;
  const { kept, index, hiddenWorlds } = read;
  const { bytes, sha256 } = kept;
  if (manifest !== undefined)
    compareWithManifest(manifest, new Map([[PREPARED, { bytes, sha256: sha256! }]]), problems);
  if (problems.count > 0) return undefined;
  const store = { ...read.store, ...kept.store };
  return {
    store: manifest === undefined ? store : rename(store, manifest),
    ...(index ? { index } : {}),
    hiddenWorlds,
    createdAt: manifest?.createdAt ?? kept.createdAt,
    reports: kept.reports,
    reused: new Set(unchangedPrepared ? ROW_FILES : []),
    kept: { files: [], prepared: kept },
    bytes,
    readMs: performance.now() - began,
    packMs: 0,
  };
}
