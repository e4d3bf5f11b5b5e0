/** Finds the files of a snapshot folder, opens them, and detects changes. */

import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileFingerprint } from "../files/given.ts";
import { ROW_FILES, type RowFile } from "../model/model.ts";
import { codeOf } from "../util/system-error.ts";
import type { Problems } from "./problems.ts";

export const MANIFEST = "manifest.json";

/** Name of the file of a prepared snapshot, which replaces the row files. */
export const PREPARED = "generation.orrery";

export interface StoredFile {
  readonly table: RowFile;
  /** Name on disk, ending included. */
  readonly name: string;
  readonly isGzip: boolean;
  readonly handle: FileHandle;
}

export function formsOf(table: RowFile): string[] {
  return [table, `${table}.gz`];
}

export function isRowFile(name: string): boolean {
  return ROW_FILES.some((table) => formsOf(table).includes(name));
}

/** Files that a load has opened, by name, in the order in which they are checked. */
export type Opened = Map<string, FileHandle>;

/** Fingerprints of files by name, each with the name before it; no file is read for them. */
export type FileFingerprints = ReadonlyMap<string, string>;

/** Whether two fingerprints are equal except for the change time, which a new hard link updates. */
export function isSameFile(a: string, b: string): boolean {
  return a.slice(0, a.lastIndexOf(":")) === b.slice(0, b.lastIndexOf(":"));
}

/** The fingerprints of the files of a snapshot. @throws any error of the file system but "no such file" */
export async function fileFingerprintsOf(folder: string): Promise<FileFingerprints> {
  const fingerprints = new Map<string, string>();
  for (const name of [MANIFEST, PREPARED, ...ROW_FILES.flatMap(formsOf)]) {
    try {
      fingerprints.set(name, `${name} ${fileFingerprint(await stat(join(folder, name), { bigint: true }))}`);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }
  return fingerprints;
}

export function joinFingerprints(fingerprints: FileFingerprints): string {
  return [...fingerprints.values()].join("\n");
}

/** The fingerprint of all files of a snapshot; see {@link fileFingerprintsOf}. */
export async function fingerprintOf(folder: string): Promise<string> {
  return joinFingerprints(await fileFingerprintsOf(folder));
}

/** The fingerprint of the opened files: if it equals {@link fingerprintOf}, all existing files were opened. */
export async function fingerprintOfOpened(opened: Opened): Promise<string> {
  const fingerprints = new Map<string, string>();
  for (const [name, handle] of opened)
    fingerprints.set(name, `${name} ${fileFingerprint(await handle.stat({ bigint: true }))}`);
  return joinFingerprints(fingerprints);
}

/** Reports files that are not regular: a pipe could block a load for ever. @returns whether all are regular */
export async function checkKinds(opened: Opened, problems: Problems): Promise<boolean> {
  const { count } = problems;
  for (const [name, handle] of opened)
    if (!(await handle.stat()).isFile()) problems.file(name, "is not a regular file");
  return problems.count === count;
}

export async function openIfThere(
  folder: string,
  name: string,
  opened: Opened,
): Promise<FileHandle | undefined> {
  try {
    // Without O_NONBLOCK, opening a pipe without a writer would never end.
    const handle = await open(join(folder, name), constants.O_RDONLY | constants.O_NONBLOCK);
    opened.set(name, handle);
    return handle;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Opens the row files; reports a file that is missing or exists in several forms. The caller closes the opened files. */
export async function openRowFiles(
  folder: string,
  problems: Problems,
  opened: Opened,
  tables: readonly RowFile[],
): Promise<StoredFile[]> {
  const found: StoredFile[] = [];
  for (const table of tables) {
    const forms: StoredFile[] = [];
    for (const name of formsOf(table)) {
      const handle = await openIfThere(folder, name, opened);
      if (handle) forms.push({ table, name, isGzip: name !== table, handle });
    }
    const [first, second] = forms;
    if (first === undefined) problems.file(table, "is missing");
    else if (second === undefined) found.push(first);
    else problems.file(first.name, `${second.name} exists as well; only one of them is allowed`);
  }
  return found;
}

/** Reports a row file beside a prepared file. @returns whether the prepared file is alone */
export function checkPreparedAlone(opened: Opened, problems: Problems): boolean {
  const row = Array.from(opened.keys()).find((name) => name !== MANIFEST && name !== PREPARED);
  if (row === undefined) return true;
  problems.file(PREPARED, `${row} exists as well; a folder holds rows or a prepared snapshot`);
  return false;
}
