/** Turns row files into a store: each is read, staged and packed in turn, or reused from the served generation; if all are sound, builds it. */

import { createHash } from "node:crypto";
import { ROW_FILES, type RowFile, tableOf } from "../model/model.ts";
import { FIELDS, RESOURCE_OF, type TableName } from "../model/schema.ts";
import { buildStore } from "../store/build.ts";
import { ENCODERS } from "../store/encoders.ts";
import { LimitError } from "../store/limits.ts";
import type { StoredFile } from "./files.ts";
import type { LineSink } from "./lines.ts";
import { addFault, type FileReport, type KeptFile, type LoadedFiles, type LoadInput } from "./loaded.ts";
import { compareWithManifest } from "./manifest.ts";
import { type Budget, hashFile, MAX_SNAPSHOT_BYTES, type ReadFile, readFileLines, spend } from "./read.ts";
import { areRowsReused, type Origin, reusedStore, reuseEqual } from "./reuse.ts";
import { createArriving, type Row, RowChecker } from "./rows.ts";
import { ScannedRows } from "./scanned.ts";
import { createStage, type Stage, type Staged } from "./stage.ts";
import { keepWorlds, stageUnchanged } from "./unchanged-files.ts";

/** Makes a function that stages parsed rows: checked field by field, and encoded from their values. */
export function stageParsed(table: TableName, staged: Staged, check: RowChecker): (row: Row) => void {
  const fields = FIELDS[table];
  const arriving = createArriving(fields);
  const encode = ENCODERS[RESOURCE_OF[table]];
  return (row) => {
    const values: Record<string, unknown> = {};
    let isGood = true;
    for (const [at, field] of fields.entries()) {
      const value = check.read(field, row[field.name], arriving, at);
      if (value === undefined) isGood = false;
      values[field.name] = value;
    }
    if (isGood && staged.add(arriving, check)) staged.texts.push(encode(values));
  };
}

/** The rows so far; if they are sound, a store is made from them in the end. */
interface Arrived extends Pick<LoadInput, "options" | "manifest" | "began"> {
  readonly stage: Stage;
  /** The files that were read or reused, in order. */
  readonly files: KeptFile[];
  readonly reused: Set<Origin>;
  packMs: number;
}

interface Reading extends LoadInput, Arrived {
  readonly budget: Budget;
  readonly onBytes: (bytes: number) => void;
}

async function readRows(file: StoredFile, { stage, problems, budget, onBytes }: Reading): Promise<ReadFile> {
  const table = tableOf(file.table);
  const check = new RowChecker(file.name, problems);
  const scanned = new ScannedRows(table, stage[table], check);
  const parsed = stageParsed(table, stage[table], check);
  const sink: LineSink = {
    bytes: (bytes, from, number) => scanned.stage(bytes, from, number),
    line(text, number) {
      const row = check.parse(text, number);
      if (row !== undefined) parsed(row);
    },
    problem: (number, what) => problems.file(`${file.name}:${number}`, what),
  };
  return readFileLines(file, sink, budget, onBytes);
}

async function progressOver({ stored, options }: LoadInput): Promise<(bytes: number) => void> {
  const { onProgress, signal } = options;
  let total = 0;
  for (const { handle } of stored) total += (await handle.stat()).size;
  let read = 0;
  return (bytes) => {
    signal?.throwIfAborted();
    read += bytes;
    onProgress?.(Math.min(1, read / total));
  };
}

/** The served file, if it has the same contents under another fingerprint. */
async function findEqual(file: StoredFile, { options, onBytes }: Reading): Promise<KeptFile | undefined> {
  const kept = options.previous?.kept.files.find((one) => one.file === file.name);
  if (kept === undefined || (await file.handle.stat()).size !== kept.bytes) return undefined;
  return (await hashFile(file.handle, onBytes)) === kept.sha256 ? kept : undefined;
}

/** Reuses the rows of an unchanged file. False if a change in `worlds` changed which of them are visible. */
function reuseFile(reading: Reading, kept: KeptFile, fingerprint: string): boolean {
  const { stage, problems, files, reused } = reading;
  const { previous } = reading.options;
  // A load with problems is refused, and this file adds no problem.
  if (problems.count === 0 && !areRowsReused(reused, kept.table)) return false;
  spend(reading.budget, kept.unpackedBytes);
  const dangling = problems.count === 0 ? stageUnchanged(stage, kept, reused, previous!) : kept.dangling;
  reused.add(kept.table);
  files.push({ ...kept, fingerprint, dangling });
  return true;
}

async function readFile(reading: Reading, file: StoredFile, fingerprint: string): Promise<void> {
  const { stage, problems, options } = reading;
  const { name, table } = file;
  const read = await readRows(file, reading);
  const { hidden, dangling } = stage[tableOf(table)];
  reading.files.push({ file: name, table, ...read, hidden, dangling, fingerprint });
  if (problems.count > 0) return;
  // At once, so that the next file can use the memory of the staged texts.
  const packing = performance.now();
  stage[tableOf(table)].pack();
  if (options.previous) reuseEqual(stage, table, options.previous, reading.reused);
  reading.packMs += performance.now() - packing;
}

/** Reads a file, or reuses its rows. @returns whether it is worthwhile to read on */
async function takeFile(reading: Reading, table: RowFile): Promise<boolean> {
  const { stored, unchanged, fingerprints, problems, budget } = reading;
  const file = stored.find((one) => one.table === table);
  const name = file?.name ?? unchanged.get(table)!.file;
  const fingerprint = fingerprints.get(name)!;
  try {
    const equal = unchanged.get(table) ?? (await findEqual(file!, reading));
    if (equal === undefined || !reuseFile(reading, equal, fingerprint)) {
      await readFile(reading, file!, fingerprint);
    }
    return true;
  } catch (error) {
    addFault(name, error, problems);
    return budget.bytesLeft >= 0 && !(error instanceof LimitError);
  }
}

/** Reads row files, and adds their faults to the problems. @returns undefined if there are any @throws errors of the file system */
export async function readRowFiles(input: LoadInput): Promise<LoadedFiles | undefined> {
  const { options, problems, manifest } = input;
  const reading: Reading = {
    ...input,
    stage: createStage(options.limits),
    budget: { bytesLeft: options.maxBytes ?? MAX_SNAPSHOT_BYTES },
    onBytes: await progressOver(input),
    files: [],
    reused: new Set(),
    packMs: 0,
  };
  for (const table of ROW_FILES) if (!(await takeFile(reading, table))) break;
  const byName = new Map(reading.files.map((file) => [file.file, file]));
  if (manifest && byName.size === ROW_FILES.length) compareWithManifest(manifest, byName, problems);
  return problems.count > 0 ? undefined : finish(reading, hashContents(reading), reading.files);
}

/** Equal stored files give equal hashes, independent of their dates. */
function hashContents({ files, manifest }: Reading): string {
  const hash = createHash("sha256");
  for (const { file, sha256 } of files) hash.update(`${file} ${sha256}\n`);
  return hash.update(manifest?.generation ?? "").digest("hex");
}

/** Makes the store of rows. @param contents their hash, whose beginning names the generation if no manifest does */
export function finish(
  { stage, options: { previous }, manifest, files, reused, began, packMs }: Arrived,
  contents: string,
  reports: readonly FileReport[],
): LoadedFiles {
  const { users, worlds, instances } = stage;
  const building = performance.now();
  const store = buildStore(
    manifest?.generation ?? contents.slice(0, 16),
    contents,
    { users: users.packed!, worlds: worlds.packed!, instances: instances.packed! },
    stage["world-stats"],
    previous && reusedStore(previous, reused),
  );
  const keptWorlds = reused.has("worlds.ndjson") ? previous!.kept.worlds! : keepWorlds(worlds);
  return {
    store,
    createdAt: manifest?.createdAt,
    reports,
    reused,
    hiddenWorlds: keptWorlds.hidden.words,
    kept: { files, worlds: keptWorlds },
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    readMs: building - began - packMs,
    packMs: packMs + performance.now() - building,
  };
}
