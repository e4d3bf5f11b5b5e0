/**
 * The note beside a published version: with it the next export, which is another process, need not copy tables that did not
 * change, nor check files that it links. It names its version, so it says nothing of another one that was published since.
 */

import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { replaceFile } from "../../files/atomic.ts";
import { fileFingerprintsOf, isSameFile } from "../../snapshot/files.ts";
import { isObject, parsedJson } from "../../util/json.ts";
import type { RowFiles, WrittenFile } from "../row-folder.ts";
import type { TableMarks } from "./postgres.ts";
import type { TableMark } from "./unchanged.ts";

const NOTE = "export.json";
/** Changes with the form of the note, and with the checks of rows. */
const FORMAT = "orrery-export-1";

/** Rows of the published tables, and how many of them are visible. */
export type Counts = Readonly<
  Record<"users" | "worlds" | "instances", { readonly rows: number; readonly visible: number }>
>;

export interface Note {
  /** Folder of the version. */
  readonly folder: string;
  readonly files: RowFiles;
  /** Fingerprints of its files when they were checked, by name. */
  readonly looks: Readonly<Record<string, string>>;
  readonly counts: Counts;
  /** Of tables that the next export may find unchanged. */
  readonly marks: TableMarks;
}

function placeOf(folder: string): string {
  return join(dirname(folder), NOTE);
}

/** The note of a published version; undefined if there is none, or it is of another version. */
export async function findNote(folder: string): Promise<Note | undefined> {
  const text = await readFile(placeOf(folder), "utf8").catch(() => "");
  const note = parsedJson(text);
  if (!isObject(note) || note.format !== FORMAT || note.version !== basename(folder)) return undefined;
  const marks = Object.entries(note.marks as Record<string, TableMark>).map(
    ([table, mark]) => [table, { ...mark, oldest: BigInt(mark.oldest) }] as const,
  );
  return {
    folder,
    files: new Map(Object.entries(note.files as Record<string, WrittenFile>)),
    looks: note.looks as Note["looks"],
    counts: note.counts as Counts,
    marks: new Map(marks) as TableMarks,
  };
}

/** Replaces the note. @throws errors of the file system */
export async function writeNote({ folder, files, looks, counts, marks }: Note): Promise<void> {
  const note = {
    format: FORMAT,
    version: basename(folder),
    files: Object.fromEntries(files),
    looks,
    counts,
    marks: Object.fromEntries(
      Array.from(marks, ([table, mark]) => [table, { ...mark, oldest: String(mark.oldest) }]),
    ),
  };
  await replaceFile(placeOf(folder), `${JSON.stringify(note)}\n`);
}

/** The files of a published version that were not touched since its note. */
export async function unchangedFiles(folder: string, { files, looks }: Note): Promise<RowFiles> {
  const now = await fileFingerprintsOf(folder);
  return new Map([...files].filter(([name]) => isSameFile(now.get(name) ?? "", looks[name] ?? "-")));
}
