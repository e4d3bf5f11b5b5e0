/** Files that did not change since the served generation was loaded, and their rows, which are not read again. All arrays lie in shared memory. */

import { type RowFile, tableOf } from "../model/model.ts";
import type { Packed } from "../store/build.ts";
import { sharedCopy, sharedUint32 } from "../store/bytes.ts";
import { createIdMap } from "../store/ids.ts";
import { NO_GROUP } from "../store/lists.ts";
import { type FileFingerprints, formsOf, isSameFile, PREPARED } from "./files.ts";
import type { KeptFile, KeptPrepared, KeptWorlds, Previous } from "./loaded.ts";
import type { Listed, Manifest } from "./manifest.ts";
import type { Reused } from "./reuse.ts";
import { type Dangling, dangle, findReferred, NOWHERE, type Stage, type Staged } from "./stage.ts";

type Identified = Pick<KeptPrepared, "fingerprint" | "sha256">;

/** Whether a file is unchanged. A new hard link changes the ctime alone. Then the manifest's hash decides. */
function isUnchanged(kept: Identified, fingerprint: string, listed: Listed | undefined): boolean {
  const isListed = listed !== undefined && listed.sha256 === kept.sha256;
  return fingerprint === kept.fingerprint || (isListed && isSameFile(fingerprint, kept.fingerprint));
}

/** The served prepared file, if it is unchanged. A manifest requires a hash, which may not be known yet. */
export function findUnchangedPrepared(
  fingerprints: FileFingerprints,
  previous: Previous | undefined,
  manifest: Manifest | undefined,
): KeptPrepared | undefined {
  const kept = previous?.kept.prepared;
  const fingerprint = fingerprints.get(PREPARED);
  if (kept === undefined || fingerprint === undefined) return undefined;
  if (manifest !== undefined && kept.sha256 === undefined) return undefined;
  return isUnchanged(kept, fingerprint, manifest?.files.get(PREPARED)) ? { ...kept, fingerprint } : undefined;
}

/** The unchanged row files of the served generation, by table. */
export function findUnchangedFiles(
  fingerprints: FileFingerprints,
  previous: Previous | undefined,
  manifest: Manifest | undefined,
): Map<RowFile, KeptFile> {
  const unchanged = new Map<RowFile, KeptFile>();
  for (const file of previous?.kept.files ?? []) {
    const forms = formsOf(file.table).filter((name) => fingerprints.has(name));
    const fingerprint = fingerprints.get(file.file);
    if (fingerprint === undefined || forms.length > 1) continue;
    if (isUnchanged(file, fingerprint, manifest?.files.get(file.file))) unchanged.set(file.table, file);
  }
  return unchanged;
}

/** Keeps what the next load needs of worlds that were read. */
export function keepWorlds({ packed, hiddenIds, lines, references }: Staged): KeptWorlds {
  const rows = sharedUint32(packed!.rows.length);
  rows.set(packed!.rows);
  return { hidden: hiddenIds!, owners: sharedCopy(references), lines: sharedCopy(lines), rows };
}

/** Stages an unchanged file, whose rows are in the served store, after the `reused` ones. @returns its dangling references */
export function stageUnchanged(
  stage: Stage,
  { table, file, dangling }: KeptFile,
  reused: Reused,
  { store, kept }: Previous,
): Dangling {
  const name = tableOf(table);
  if (name === "world-stats") return dangling;
  const nothing = new Uint32Array(0);
  const packed: Packed = { table: store[name], rows: nothing, parents: nothing };
  stage[name].packed = packed;
  stage[name].hiddenIds = name === "worlds" ? kept.worlds!.hidden : createIdMap(nothing);
  if (name !== "worlds") return dangling;
  if (reused.has("users.ndjson")) return dangling;
  const again = referAgain(kept.worlds!, file, store.worlds.rows, stage.users);
  stage.worlds.packed = { ...packed, parents: again.parents };
  return again.dangling;
}

/** Resolves the owners of the kept worlds again, since users were read again. @param worlds rows of the table */
function referAgain(
  { owners, lines, rows }: KeptWorlds,
  file: string,
  worlds: number,
  users: Staged,
): Pick<Packed, "parents"> & { readonly dangling: Dangling } {
  const parents = new Uint32Array(worlds).fill(NO_GROUP);
  const dangling: Dangling = { count: 0, examples: [] };
  for (let arrival = 0; arrival < rows.length; arrival++) {
    const owner = findReferred(users, owners, arrival * 4);
    if (owner === NOWHERE) dangle(dangling, `${file}:${lines[arrival]}`, "ownerId", owners, arrival * 4);
    const row = rows[arrival]!;
    if (row !== NO_GROUP) parents[row] = owner < 0 ? NO_GROUP : owner;
  }
  return { parents, dangling };
}
