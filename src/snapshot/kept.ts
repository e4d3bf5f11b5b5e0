/** Reuses the previous load: unchanged files are not read again. All arrays lie in shared memory. */

import { ROW_FILES, type RowFile, tableOf } from "../model/model.ts";
import type { Packed } from "../store/build.ts";
import { isSame, sharedCopy, sharedUint32 } from "../store/bytes.ts";
import type { Store } from "../store/generation.ts";
import { createIdMap } from "../store/ids.ts";
import { NO_GROUP } from "../store/lists.ts";
import { type FileFingerprints, formsOf, isSameFile, PREPARED } from "./files.ts";
import type { Before, KeptFile, KeptPrepared, KeptWorlds } from "./loaded.ts";
import type { Listed, Manifest } from "./manifest.ts";
import {
  type Dangling,
  dangle,
  findReferred,
  groupOf,
  NOWHERE,
  type Referred,
  type Stage,
  type Staged,
} from "./stage.ts";

type Known = Pick<KeptPrepared, "fingerprint" | "sha256">;

/** Whether a file is unchanged. If only its change time differs, since it got another link, the manifest must list its contents. */
function isUnchanged({ fingerprint, sha256 }: Known, look: string, listed: Listed | undefined): boolean {
  const isListed = listed !== undefined && listed.sha256 === sha256;
  return look === fingerprint || (isListed && isSameFile(look, fingerprint));
}

/** The prepared file of the previous load, if it is unchanged. A manifest requires a hash, which may not be known yet. */
export function unchangedPrepared(
  fingerprints: FileFingerprints,
  before: Before | undefined,
  manifest: Manifest | undefined,
): KeptPrepared | undefined {
  const known = before?.kept.prepared;
  const fingerprint = fingerprints.get(PREPARED);
  if (known === undefined || fingerprint === undefined) return undefined;
  if (manifest !== undefined && known.sha256 === undefined) return undefined;
  return isUnchanged(known, fingerprint, manifest?.files.get(PREPARED))
    ? { ...known, fingerprint }
    : undefined;
}

/** The unchanged row files of the previous load, by table. */
export function unchangedFiles(
  fingerprints: FileFingerprints,
  before: Before | undefined,
  manifest: Manifest | undefined,
): Map<RowFile, KeptFile> {
  const unchanged = new Map<RowFile, KeptFile>();
  for (const file of before?.kept.files ?? []) {
    const forms = formsOf(file.table).filter((name) => fingerprints.has(name));
    const look = fingerprints.get(file.file);
    if (look === undefined || forms.length > 1) continue;
    if (isUnchanged(file, look, manifest?.files.get(file.file))) unchanged.set(file.table, file);
  }
  return unchanged;
}

/** The files that a load may have to read: changed files, and files with rows that depend on a changed one. */
export function tablesToOpen(unchanged: ReadonlyMap<RowFile, KeptFile>): RowFile[] {
  return ROW_FILES.filter(
    (table) => !unchanged.has(table) || (DEPENDS_ON_WORLDS.has(table) && !unchanged.has("worlds.ndjson")),
  );
}

/** Files with rows that are visible only if their world is. */
const DEPENDS_ON_WORLDS: ReadonlySet<RowFile> = new Set(["world-stats.ndjson", "instances.ndjson"]);

/** Whether the rows of an unchanged file have the same result as before: `stage` holds the tables that they refer to. */
export function isStillTrue(stage: Stage, table: RowFile, { store, kept }: Before): boolean {
  if (!DEPENDS_ON_WORLDS.has(table)) return true;
  const { referred } = stage.worlds;
  if (referred === undefined) return false;
  const { ids, hidden } = referred;
  return isSame(ids.words, store.worlds.ids.words) && isSame(hidden.words, kept.worlds!.hidden.words);
}

export function keepWorlds({ packed, referred, lines, references }: Staged): KeptWorlds {
  const rows = sharedUint32(packed!.rows.length);
  rows.set(packed!.rows);
  return { hidden: referred!.hidden, owners: sharedCopy(references), lines: sharedCopy(lines), rows };
}

/**
 * Stages an unchanged file: its rows are in the store before.
 *
 * @param unchanged the unchanged files that precede it
 * @returns its dangling references
 */
export function stageKept(
  stage: Stage,
  { table, file, dangling }: KeptFile,
  unchanged: ReadonlySet<RowFile>,
  { store, kept }: Before,
): Dangling {
  const name = tableOf(table);
  if (name === "world-stats") return dangling;
  const nothing = new Uint32Array(0);
  const packed: Packed = { table: store[name], rows: nothing, parents: nothing };
  stage[name].packed = packed;
  if (name === "users") stage.users.referred = { ids: store.users.ids, hidden: createIdMap(nothing) };
  if (name !== "worlds") return dangling;
  stage.worlds.referred = { ids: store.worlds.ids, hidden: kept.worlds!.hidden };
  if (unchanged.has("users.ndjson")) return dangling;
  const again = referAgain(kept.worlds!, file, store.worlds.rows, stage.users.referred);
  stage.worlds.packed = { ...packed, parents: again.parents };
  return again.dangling;
}

/** Replaces a new table by an equal earlier one: data made from that one is then still valid. */
export function takeEarlierIfEqual(stage: Stage, file: RowFile, store: Store): void {
  const table = tableOf(file);
  const { packed } = stage[table];
  if (packed === undefined || table === "world-stats") return;
  if (packed.table.bytes.equals(store[table].bytes)) stage[table].packed = { ...packed, table: store[table] };
}

/** Resolves the owners of the kept worlds again, since users were read again. @param worlds rows of the table */
function referAgain(
  { owners, lines, rows }: KeptWorlds,
  file: string,
  worlds: number,
  users: Referred | undefined,
): Pick<Packed, "parents"> & { readonly dangling: Dangling } {
  const parents = new Uint32Array(worlds).fill(NO_GROUP);
  const dangling: Dangling = { count: 0, examples: [] };
  for (let arrival = 0; arrival < rows.length; arrival++) {
    const owner = findReferred(users, owners, arrival * 4);
    if (owner === NOWHERE)
      dangle(dangling, { place: `${file}:${lines[arrival]}` }, "ownerId", owners, arrival * 4);
    const row = rows[arrival]!;
    if (row !== NO_GROUP) parents[row] = groupOf(owner);
  }
  return { parents, dangling };
}
