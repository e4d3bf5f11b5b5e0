/**
 * The note beside a published version: with it the next export, which is another process, need not copy tables that did not
 * change, nor check files that it links. It names its version, so it says nothing of another one that was published since.
 */

import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { replaceFile } from "../../files/atomic.ts";
import { fileFingerprintsOf, isSameFile } from "../../snapshot/files.ts";
import { type Block, rowText } from "../../store/table.ts";
import { isObject, parsedJson } from "../../util/json.ts";
import { linesOf } from "../broken-rows.ts";
import type { RowFiles, WrittenFile } from "../row-folder.ts";
import type { TableMarks } from "./postgres.ts";

const NOTE = "export.json";
/** Changes with the form of the note, and with the checks of rows. */
const FORMAT = "orrery-export-2";

/** Rows of the published tables, and how many of them are visible. */
export type Counts = Readonly<
  Record<"users" | "worlds" | "instances", { readonly rows: number; readonly visible: number }>
>;

export interface Note {
  readonly files: Readonly<Record<string, WrittenFile>>;
  /** Fingerprints of its files when they were checked, by name. */
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly counts: Counts;
  /** Ids of its visible worlds, as {@link visibleIds} gives them. */
  readonly visibleWorlds: string;
  /** Of tables that the next export may find unchanged. */
  readonly marks: TableMarks;
}

function placeOf(folder: string): string {
  return join(dirname(folder), NOTE);
}

/** The note of a published version; undefined if there is none, or it is of another version. */
export async function findNote(folder: string): Promise<Note | undefined> {
  const note = parsedJson(await readFile(placeOf(folder), "utf8").catch(() => ""));
  if (!isObject(note) || note.format !== FORMAT || note.version !== basename(folder)) return undefined;
  return note as unknown as Note;
}

/** Replaces the note by that of a published version. @throws errors of the file system */
export async function writeNote(folder: string, note: Note): Promise<void> {
  const text = JSON.stringify({ ...note, format: FORMAT, version: basename(folder) });
  await replaceFile(placeOf(folder), `${text}\n`);
}

/** The files of a published version that were not touched since its note. */
export async function unchangedFiles(folder: string, { files, fingerprints }: Note): Promise<RowFiles> {
  const now = await fileFingerprintsOf(folder);
  const isUnchanged = (name: string): boolean => isSameFile(now.get(name) ?? "", fingerprints[name] ?? "-");
  return new Map(Object.entries(files).filter(([name]) => isUnchanged(name)));
}

/** The id at the beginning of a row, as it is served. */
const ID = /^\{"id":"([^"]+)"/;
const ID_BYTES = 16;

const hexOf = (id: string): string => id.replaceAll("-", "").toLowerCase();

/** The ids of a table, sixteen bytes each, in base64. */
export function visibleIds(table: Block): string {
  const hex: string[] = [];
  for (let row = 0; row < table.starts.length - 1; row++) hex.push(hexOf(ID.exec(rowText(table, row))![1]!));
  return Buffer.from(hex.join(""), "hex").toString("base64");
}

/** Counts the visible rows of a checked file of instances, without reading the worlds again. */
export async function visibleInstances(folder: string, file: string, visibleWorlds: string): Promise<number> {
  const ids = Buffer.from(visibleWorlds, "base64");
  const worlds = new Set<string>();
  for (let at = 0; at < ids.length; at += ID_BYTES) worlds.add(ids.toString("hex", at, at + ID_BYTES));
  let count = 0;
  for await (const line of linesOf(folder, file)) {
    const row = parsedJson(line);
    if (isObject(row) && row.isPublic && row.isActive && worlds.has(hexOf(String(row.worldId)))) count++;
  }
  return count;
}
