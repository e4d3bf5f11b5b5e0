/**
 * The snapshot pipeline: folder, read, validate, keep the visible, encode, pack.
 *
 * A load either gives a whole store or a list of problems; nothing in between.
 *
 * Long: the steps of a load stand in the order in which they are taken, with every reason to refuse.
 */

import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { ROW_FILES, type RowFile } from "../model.ts";
import type { SearchIndex } from "../search/search.ts";
import { defaultOf } from "../settings.ts";
import { buildStore } from "../store/build.ts";
import type { Store } from "../store/generation.ts";
import { LimitError } from "../store/limits.ts";
import { systemErrorText } from "../system-error.ts";
import {
  checkKinds,
  checkPreparedAlone,
  type FileSystem,
  fingerprintOf,
  fingerprintOfOpened,
  joinLooks,
  type Looks,
  looksOf,
  type Opened,
  openManifest,
  openPrepared,
  openRowFiles,
  PREPARED,
  realFiles,
  type StoredFile,
} from "./files.ts";
import {
  type Before,
  isStillTrue,
  type Kept,
  type KeptFile,
  keepWorlds,
  stageKept,
  tablesToOpen,
  takeEarlierIfEqual,
  unchangedFiles,
} from "./kept.ts";
import { compareWithManifest, type Manifest, readManifest } from "./manifest.ts";
import { PARSED } from "./parsed.ts";
import { loadPrepared } from "./prepared/load.ts";
import { Problems } from "./problems.ts";
import { BadFileError, type Budget, hashFile, type ReadFile, readFileLines, spend } from "./read.ts";
import { RowChecker } from "./rows.ts";
import { SCANNED } from "./scanned.ts";
import {
  createStage,
  type Dangling,
  type Hidden,
  hiddenIdsOf,
  packedOf,
  packStaged,
  type Stage,
  type StageLimits,
  stagedOf,
} from "./stage.ts";

/** How to load. */
export interface LoadOptions {
  /** Most bytes of uncompressed rows. */
  readonly maxBytes?: number;
  /** Told what share of the stored bytes was read, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** Keep the ids of hidden rows for a report; a server must not. */
  readonly keepHiddenIds?: boolean;
  /**
   * The generation that is being served. Files that did not change since it was loaded are not read again; what comes
   * of the load is the same. Not together with `keepHiddenIds`.
   */
  readonly before?: Before;
  /** Ends the load: what it comes to is of no more interest. */
  readonly signal?: AbortSignal;
  /** Stands in for the file system in tests. */
  readonly files?: FileSystem;
  /** Stand in for the hard limits in tests. */
  readonly limits?: Partial<StageLimits>;
}

/** What was in one file. */
export interface FileReport {
  readonly file: string;
  readonly table: RowFile;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Lines that are not blank. */
  readonly rows: number;
  readonly hidden: Hidden;
  readonly dangling: Dangling;
  /** Whether the rows of an earlier load were used again. */
  readonly isKept: boolean;
  /** Four words a hidden row, when they were asked for. */
  readonly hiddenIds: Uint32Array | undefined;
}

/** A snapshot that can be served. */
export interface Loaded {
  readonly ok: true;
  readonly store: Store;
  /** The index, where it was there with the rows. */
  readonly index?: SearchIndex;
  /** How the prepared file is made that it came from: version of the format, and bytes by kind of contents. */
  readonly prepared?: { readonly version: number; readonly sections: ReadonlyMap<string, number> };
  /** As the manifest says. */
  readonly createdAt: string | undefined;
  /** Of the row files, or of those that a prepared file was made from. */
  readonly reports: readonly FileReport[];
  /** For the load of what comes behind it. */
  readonly kept: Kept;
  /** Bytes on disk of the files that were read, without the manifest. */
  readonly bytes: number;
  /** Milliseconds that reading and validating took, and sorting and packing. */
  readonly readMs: number;
  readonly packMs: number;
  /** Fingerprint of the files; see {@link fingerprintOf}. */
  readonly fingerprint: string;
}

/** A snapshot that cannot. */
export interface Refused {
  readonly ok: false;
  /** One line a problem. */
  readonly problems: readonly string[];
  /** Fingerprint of the files, or undefined when the next check should try again. */
  readonly fingerprint: string | undefined;
  /** It was the load that failed, not what it read: to try again at every check would cost much for nothing. */
  readonly died?: true;
  /** The files changed while they were being read. */
  readonly changed?: true;
}

async function readRows(
  file: StoredFile,
  stage: Stage,
  problems: Problems,
  budget: Budget,
  onBytes: (bytes: number) => void,
): Promise<ReadFile> {
  const check = new RowChecker(file.name, problems);
  const stageScanned = SCANNED[file.table](stage, check);
  const stageParsed = PARSED[file.table];
  let rows = 0;
  const stored = await readFileLines(
    file,
    {
      bytes(bytes, from, number) {
        const to = stageScanned(bytes, from, number);
        if (to >= 0) rows++;
        return to;
      },
      line(text, number) {
        rows++;
        const row = check.parse(text, number);
        if (row !== undefined) stageParsed(stage, row, check);
      },
      problem(number, what) {
        rows++;
        problems.line(file.name, number, what);
      },
    },
    budget,
    onBytes,
  );
  return { ...stored, rows };
}

/** Equal stored files give equal hashes, whatever their dates. */
function hashContents(read: ReadonlyMap<string, ReadFile>, manifest: Manifest | undefined): string {
  const hash = createHash("sha256");
  for (const [name, { sha256 }] of read) hash.update(`${name} ${sha256}\n`);
  hash.update(manifest?.generation ?? "");
  return hash.digest("hex");
}

/** Turns bytes as they are read into the share of all. */
async function progressOver(
  stored: readonly StoredFile[],
  onProgress: LoadOptions["onProgress"],
): Promise<(bytes: number) => void> {
  if (onProgress === undefined) return () => {};
  let total = 0;
  for (const { handle } of stored) total += (await handle.stat()).size;
  let read = 0;
  return (bytes) => {
    read += bytes;
    onProgress(total === 0 ? 1 : Math.min(1, read / total));
  };
}

interface SystemError extends Error {
  readonly code: string;
  readonly syscall: string;
  /** The file, where the call names one. */
  readonly path?: string;
}

function isSystemError(error: unknown): error is SystemError {
  const { code, syscall } = error as Partial<SystemError>;
  return code !== undefined && syscall !== undefined;
}

/** A failure of the file system, which the next check should try again. */
function unreadable(file: string, error: SystemError): Refused {
  const problem = `${file}: cannot be read: ${systemErrorText(error)}`;
  return { ok: false, problems: [problem], fingerprint: undefined };
}

/** What reading the files has come to so far. */
interface Reading {
  readonly stage: Stage;
  readonly problems: Problems;
  readonly budget: Budget;
  readonly onBytes: (bytes: number) => void;
  readonly before: Before | undefined;
  /** What was read or kept, in the order of the files. */
  readonly files: KeptFile[];
  readonly unchanged: Set<RowFile>;
  packMs: number;
}

/** What is known of a file that holds what it held before, if only its look has changed. */
async function findEqual(file: StoredFile, { before, onBytes }: Reading): Promise<KeptFile | undefined> {
  const known = before?.kept.files.find(({ name }) => name === file.name);
  if (known === undefined || (await file.handle.stat()).size !== known.bytes) return undefined;
  return (await hashFile(file, onBytes)) === known.sha256 ? known : undefined;
}

/** Uses the rows of a file again that did not change, if they mean what they meant. */
function keepFile(reading: Reading, known: KeptFile, look: string): boolean {
  const { stage, problems, before, files, unchanged } = reading;
  // With problems nothing comes of the load, and this file adds none.
  if (problems.count === 0 && !isStillTrue(stage, known.table, before!)) return false;
  spend(reading.budget, known.unpackedBytes);
  const dangling = problems.count === 0 ? stageKept(stage, known, unchanged, before!) : known.dangling;
  unchanged.add(known.table);
  files.push({ ...known, look, dangling });
  return true;
}

/** Reads a file and packs its rows. */
async function readFile(reading: Reading, file: StoredFile, look: string): Promise<void> {
  const { stage, problems, before } = reading;
  const { name, table } = file;
  const read = await readRows(file, stage, problems, reading.budget, reading.onBytes);
  const { hidden, dangling } = stagedOf(stage, table);
  reading.files.push({ ...read, table, name, look, hidden, dangling });
  if (problems.count > 0) return;
  // At once, since the memory of its staged texts then serves the next file.
  const packing = performance.now();
  packStaged(stage, table);
  if (before) takeEarlierIfEqual(stage, table, before.store);
  reading.packMs += performance.now() - packing;
}

async function loadOpened(
  folder: string,
  looks: Looks,
  opened: Opened,
  options: LoadOptions,
): Promise<Loaded | Refused> {
  const files = options.files ?? realFiles;
  const began = performance.now();
  const problems = new Problems();
  const fingerprint = joinLooks(looks.values());
  const refuse = (): Refused => ({ ok: false, problems: problems.lines(), fingerprint });
  const changed: Refused = {
    ok: false,
    problems: [`${folder}: changed while it was being read`],
    fingerprint: undefined,
    changed: true,
  };

  const { before } = options;
  const handle = await openManifest(folder, files, opened);
  const prepared = await openPrepared(folder, files, opened);
  // Beside a prepared file none may be there, whatever they look like.
  const known = unchangedFiles(looks, prepared ? undefined : before);
  const rowProblems = prepared ? new Problems() : problems;
  const stored = await openRowFiles(folder, files, rowProblems, opened, tablesToOpen(known));
  const notOpened = new Set<string>(
    [...known.values()].filter(({ name }) => !opened.has(name)).map(({ name }) => name),
  );
  const toOpen = [...looks].filter(([name]) => !notOpened.has(name)).map(([, look]) => look);
  if ((await fingerprintOfOpened(opened)) !== joinLooks(toOpen)) return changed;
  if (!(await checkKinds(opened, problems))) return refuse();
  if (prepared && !checkPreparedAlone(opened, problems)) return refuse();
  const manifest = handle ? await readManifest(handle, problems) : undefined;
  if (problems.count > 0) return refuse();

  if (prepared) {
    const look = looks.get(PREPARED)!;
    const same = before?.kept.prepared?.look === look ? before : undefined;
    const earlier = same && { known: same.kept.prepared!, store: same.store };
    const loaded = await loadPrepared(prepared, manifest, problems, options, earlier).catch(
      (error: unknown) => {
        if (isSystemError(error)) return unreadable(PREPARED, error);
        throw error;
      },
    );
    if (loaded !== undefined && "ok" in loaded) return loaded;
    const isChanged = (await fingerprintOf(folder, files)) !== fingerprint;
    if (isChanged) return changed;
    if (loaded === undefined) return refuse();
    const kept = { files: [], prepared: { ...loaded.known, look } };
    return { ...loaded, ok: true, kept, fingerprint };
  }

  const showBytes = await progressOver(stored, options.onProgress);
  const reading: Reading = {
    stage: createStage(options.limits),
    problems,
    budget: { bytesLeft: options.maxBytes ?? Number(defaultOf("max-snapshot-bytes")) },
    onBytes(bytes) {
      options.signal?.throwIfAborted();
      showBytes(bytes);
    },
    before,
    files: [],
    unchanged: new Set(),
    packMs: 0,
  };
  for (const table of ROW_FILES) {
    const file = stored.find((one) => one.table === table);
    const { name } = file ?? known.get(table)!;
    const look = looks.get(name)!;
    try {
      const equal = known.get(table) ?? (await findEqual(file!, reading));
      if (equal === undefined || !keepFile(reading, equal, look)) await readFile(reading, file!, look);
    } catch (error) {
      if (isSystemError(error)) return unreadable(name, error);
      if (!(error instanceof BadFileError || error instanceof LimitError)) throw error;
      problems.file(name, error.message);
      if (reading.budget.bytesLeft < 0 || error instanceof LimitError) return refuse();
    }
  }
  const read = new Map(reading.files.map((file) => [file.name, file]));
  if (manifest && read.size === ROW_FILES.length) compareWithManifest(manifest, read, problems);
  if ((await fingerprintOf(folder, files)) !== fingerprint) return changed;
  if (problems.count > 0) return refuse();

  const { stage, unchanged } = reading;
  const building = performance.now();
  const contents = hashContents(read, manifest);
  const store = buildStore(
    manifest?.generation ?? contents.slice(0, 16),
    contents,
    packedOf(stage),
    stage.stats,
    before && { store: before.store, unchanged },
  );
  const worlds = unchanged.has("worlds.ndjson") ? before!.kept.worlds! : keepWorlds(stage);
  const reports = reading.files.map(({ name, table, bytes, rows, hidden, dangling }) => {
    const hiddenIds = options.keepHiddenIds ? hiddenIdsOf(stage, table) : undefined;
    return { file: name, table, bytes, rows, hidden, dangling, isKept: unchanged.has(table), hiddenIds };
  });
  const bytes = reports.reduce((sum, report) => sum + report.bytes, 0);
  const readMs = building - began - reading.packMs;
  const packMs = reading.packMs + performance.now() - building;
  const kept = { files: reading.files, worlds };
  const createdAt = manifest?.createdAt;
  return { ok: true, store, createdAt, reports, kept, bytes, readMs, packMs, fingerprint };
}

/**
 * Loads the snapshot in a folder.
 *
 * @returns the store, or what is wrong. Errors of the file system are problems
 *   too, but ones that the next check should try again.
 */
export async function loadSnapshot(folder: string, options: LoadOptions = {}): Promise<Loaded | Refused> {
  const opened: Opened = new Map();
  try {
    if (!(await (options.files?.stat ?? stat)(folder)).isDirectory()) {
      return { ok: false, problems: [`${folder}: is not a directory`], fingerprint: undefined };
    }
    const looks = await looksOf(folder, options.files);
    return await loadOpened(folder, looks, opened, options);
  } catch (error) {
    if (isSystemError(error)) {
      if (error.code !== "ENOENT") return unreadable(error.path ?? folder, error);
      return {
        ok: false,
        problems: [`${folder}: directory does not exist (ENOENT)`],
        fingerprint: undefined,
      };
    }
    const isAborted = options.signal?.aborted ?? false;
    if (isAborted || error instanceof RangeError) {
      return {
        ok: false,
        problems: [`${folder}: ${(error as Error).message}`],
        fingerprint: undefined,
        died: true,
      };
    }
    throw error;
  } finally {
    await Promise.allSettled(Array.from(opened.values(), (handle) => handle.close()));
  }
}
