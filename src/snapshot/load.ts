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
import { defaultOf } from "../settings.ts";
import { buildStore } from "../store/build.ts";
import type { Store } from "../store/generation.ts";
import { LimitError } from "../store/limits.ts";
import { systemErrorText } from "../system-error.ts";
import {
  checkKinds,
  type FileSystem,
  fingerprintOf,
  fingerprintOfOpened,
  type Opened,
  openManifest,
  openRowFiles,
  realFiles,
  type StoredFile,
} from "./files.ts";
import { compareWithManifest, type Manifest, readManifest } from "./manifest.ts";
import { PARSED } from "./parsed.ts";
import { Problems } from "./problems.ts";
import { BadFileError, type Budget, readFileLines, type Stored } from "./read.ts";
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
  /** Four words a hidden row, when they were asked for. */
  readonly hiddenIds: Uint32Array | undefined;
}

/** A snapshot that can be served. */
export interface Loaded {
  readonly ok: true;
  readonly store: Store;
  readonly reports: readonly FileReport[];
  /** Bytes on disk of the row files. */
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

interface ReadFile extends Stored {
  readonly rows: number;
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

async function loadOpened(
  folder: string,
  fingerprint: string,
  opened: Opened,
  options: LoadOptions,
): Promise<Loaded | Refused> {
  const files = options.files ?? realFiles;
  const began = performance.now();
  const problems = new Problems();
  const refuse = (): Refused => ({ ok: false, problems: problems.lines(), fingerprint });
  const changed: Refused = {
    ok: false,
    problems: [`${folder}: changed while it was being read`],
    fingerprint: undefined,
    changed: true,
  };

  const handle = await openManifest(folder, files, opened);
  const stored = await openRowFiles(folder, files, problems, opened);
  if ((await fingerprintOfOpened(opened)) !== fingerprint) return changed;
  if (!(await checkKinds(opened, problems))) return refuse();
  const manifest = handle ? await readManifest(handle, problems) : undefined;
  if (problems.count > 0) return refuse();

  const stage = createStage(options.limits);
  const budget: Budget = { bytesLeft: options.maxBytes ?? Number(defaultOf("max-snapshot-bytes")) };
  const read = new Map<string, ReadFile>();
  let packMs = 0;
  const showBytes = await progressOver(stored, options.onProgress);
  const onBytes = (bytes: number): void => {
    options.signal?.throwIfAborted();
    showBytes(bytes);
  };
  for (const file of stored) {
    try {
      read.set(file.name, await readRows(file, stage, problems, budget, onBytes));
      if (problems.count > 0) continue;
      // At once, since the memory of its staged texts then serves the next file.
      const packing = performance.now();
      packStaged(stage, file.table);
      packMs += performance.now() - packing;
    } catch (error) {
      if (isSystemError(error)) return unreadable(file.name, error);
      if (!(error instanceof BadFileError || error instanceof LimitError)) throw error;
      problems.file(file.name, error.message);
      if (budget.bytesLeft < 0 || error instanceof LimitError) return refuse();
    }
  }
  if (manifest && read.size === ROW_FILES.length) compareWithManifest(manifest, read, problems);
  if ((await fingerprintOf(folder, files)) !== fingerprint) return changed;
  if (problems.count > 0) return refuse();

  const building = performance.now();
  const contents = hashContents(read, manifest);
  const store = buildStore(
    manifest?.generation ?? contents.slice(0, 16),
    contents,
    packedOf(stage),
    stage.stats,
  );
  const reports = stored.map((file) => {
    const { hidden, dangling } = stagedOf(stage, file.table);
    const { bytes, rows } = read.get(file.name)!;
    const hiddenIds = options.keepHiddenIds ? hiddenIdsOf(stage, file.table) : undefined;
    return { file: file.name, table: file.table, bytes, rows, hidden, dangling, hiddenIds };
  });
  const bytes = reports.reduce((sum, report) => sum + report.bytes, 0);
  const readMs = building - began - packMs;
  packMs += performance.now() - building;
  return { ok: true, store, reports, bytes, readMs, packMs, fingerprint };
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
    const fingerprint = await fingerprintOf(folder, options.files);
    return await loadOpened(folder, fingerprint, opened, options);
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
