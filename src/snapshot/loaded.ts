/** The options of a load, its result (a whole store, or a list of problems), and the data it keeps for the next load. */

import type { FileHandle } from "node:fs/promises";
import type { RowFile } from "../model/model.ts";
import type { SearchIndex } from "../search/search.ts";
import type { Store } from "../store/generation.ts";
import type { IdMap } from "../store/ids.ts";
import { LimitError } from "../store/limits.ts";
import { systemErrorText } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";
import type { FileFingerprints, StoredFile } from "./files.ts";
import type { Manifest } from "./manifest.ts";
import type { Problems } from "./problems.ts";
import type { ReadFile } from "./read.ts";
import type { Reused } from "./reuse.ts";
import type { Dangling, Hidden, StageLimits } from "./stage.ts";

export interface LoadOptions {
  /** Receives the share of the stored bytes that was read, from 0 to 1. */
  readonly onProgress?: ((share: number) => void) | undefined;
  /** The served generation: its unchanged files are not read again. */
  readonly previous?: Previous | undefined;
  /** Loads only if nothing has to be read; else fails without a message. */
  readonly onlyIfUnchanged?: boolean;
  readonly signal?: AbortSignal;
  /** Replace the limits in tests. */
  readonly maxBytes?: number;
  readonly limits?: Partial<StageLimits>;
}

export interface FileReport {
  readonly file: string;
  readonly table: RowFile;
  readonly bytes: number;
  readonly rows: number;
  readonly hidden: Hidden;
  readonly dangling: Dangling;
}

/** Says that no world is visible. @param rows of the worlds file */
export function noWorldsText(rows: number): string {
  return `None of the worlds of the snapshot is visible (rows: ${rows}), so every list of worlds is empty.`;
}

export interface KeptFile extends FileReport, ReadFile {
  /** Taken when it was read; see `FileFingerprints`. */
  readonly fingerprint: string;
}

/** References of the worlds file, by number of arrival. */
export interface KeptWorlds {
  readonly hidden: IdMap;
  /** Ids of owners, four words per world. */
  readonly owners: Uint32Array;
  readonly lines: Uint32Array;
  /** Row of each world, or NO_GROUP if it is hidden. */
  readonly rows: Uint32Array;
}

export interface KeptPrepared {
  /** Taken when it was read; see `FileFingerprints`. */
  readonly fingerprint: string;
  readonly bytes: number;
  /** Hex SHA-256 of the file, if a manifest required it. */
  readonly sha256: string | undefined;
  /** As the file states them. */
  readonly store: Pick<Store, "id" | "contents">;
  readonly createdAt: string | undefined;
  readonly reports: readonly FileReport[];
}

interface Kept {
  readonly files: readonly KeptFile[];
  /** Undefined if a prepared file was read. */
  readonly worlds?: KeptWorlds;
  readonly prepared?: KeptPrepared;
}

/** The served generation, for the next load. */
export interface Previous {
  readonly store: Store;
  readonly kept: Kept;
}

export interface LoadInput {
  readonly options: LoadOptions;
  readonly problems: Problems;
  readonly fingerprints: FileFingerprints;
  readonly manifest: Manifest | undefined;
  /** Undefined if the folder has row files. */
  readonly prepared: FileHandle | undefined;
  readonly unchangedPrepared: KeptPrepared | undefined;
  /** The opened row files, in the order of reading. */
  readonly stored: readonly StoredFile[];
  readonly unchanged: ReadonlyMap<RowFile, KeptFile>;
  /** When the load began, in milliseconds of `performance.now()`. */
  readonly began: number;
}

export interface Loaded {
  readonly ok: true;
  readonly store: Store;
  /** The index, if it was read with the rows. */
  readonly index?: SearchIndex;
  /** Ids of hidden worlds, four words each, for the prepared file; undefined if a prepared file was not read again. */
  readonly hiddenWorlds: Uint32Array | undefined;
  /** As the manifest states, or else the prepared file. */
  readonly createdAt: string | undefined;
  /** One per row file, or per row file that a prepared file was made from. */
  readonly reports: readonly FileReport[];
  /** What was reused of the served generation: with the files whose rows were not read. */
  readonly reused: Reused;
  readonly kept: Kept;
  /** Bytes on disk of the files that were read, without the manifest. */
  readonly bytes: number;
  /** Milliseconds for reading and validating, and for sorting and packing. */
  readonly readMs: number;
  readonly packMs: number;
  readonly fingerprint: string;
}

export type LoadedFiles = Omit<Loaded, "ok" | "fingerprint">;

export interface Refused {
  readonly ok: false;
  readonly problems: readonly string[];
  /** Fingerprint of the files, or undefined when the next check should try again. */
  readonly fingerprint: string | undefined;
  /** The load failed, not its input: a retry at every check would cost much for nothing. */
  readonly died?: true;
  readonly changed?: true;
}

/** A refusal for one reason, after which the next check should try again. */
export function refusedFor(problem: string, more?: Pick<Refused, "died" | "changed">): Refused {
  return { ok: false, problems: [problem], fingerprint: undefined, ...more };
}

/** Adds an error that ended the reading of a file to its problems. @throws other errors; one of the file system names the file */
export function addFault(file: string, error: unknown, problems: Problems): void {
  if (systemErrorText(error) !== undefined) throw Object.assign(error as Error, { path: file });
  if (!(error instanceof PlaceError || error instanceof LimitError)) throw error;
  problems.file(file, error.message);
}
