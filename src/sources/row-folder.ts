/** A folder of rows before its publication: its generation, its manifest, and the check that it would load. */

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../files/atomic.ts";
import { formatTime } from "../model/time.ts";
import { MANIFEST, PREPARED } from "../snapshot/files.ts";
import type { Before } from "../snapshot/load.ts";
import { type Loaded, loadSnapshot } from "../snapshot/load.ts";
import { FORMAT, readManifestOf } from "../snapshot/manifest.ts";
import { refuseShrunk, type ShrinkGuard, type VisibleRows, visibleIn } from "../snapshot/refusals.ts";
import { isObject } from "../util/json.ts";
import { SnapshotError } from "../util/told-error.ts";
import type { WrittenFile } from "./row-file.ts";

/** Written files by name. */
export type RowFiles = ReadonlyMap<string, WrittenFile>;

/** Equal for the same rows in the same order, compressed or not. @param prefix names the origin of the rows */
export function generationOfRows(prefix: string, files: RowFiles): string {
  const hash = createHash("sha256");
  for (const { plainSha256 } of files.values()) hash.update(plainSha256);
  return `${prefix}-${hash.digest("hex").slice(0, 16)}`;
}

/** Fields of a manifest besides its files. */
export interface ManifestFields {
  readonly generation: string;
  /** Time of the data, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** For the shrink check of the next publication; no load reads it. */
  readonly visible?: VisibleRows;
  /** Other fields that no load reads. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Writes the manifest into the folder of the files. */
export async function writeManifest(
  folder: string,
  files: RowFiles,
  { generation, createdAt, visible, more }: ManifestFields,
): Promise<void> {
  const manifest = {
    format: FORMAT,
    generation,
    createdAt: formatTime(createdAt),
    files: Object.fromEntries(
      Array.from(files, ([name, { rows, bytes, sha256 }]) => [name, { rows, bytes, sha256 }]),
    ),
    visible,
    ...more,
  };
  await writeFile(join(folder, MANIFEST), textOf(manifest));
}

function textOf(manifest: object): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Renews the time of the published data after a check that it is still the same. */
export async function renewManifest(folder: string, createdAt: number): Promise<void> {
  const manifest = await readManifestOf(folder);
  await replaceFile(join(folder, MANIFEST), textOf({ ...manifest, createdAt: formatTime(createdAt) }));
}

/** Whether a published folder holds the same rows in the same form. */
export async function holdsSame(
  current: string,
  generation: string,
  files: RowFiles,
  prepared: boolean,
): Promise<boolean> {
  const manifest = await readManifestOf(current);
  if (!isObject(manifest?.files)) return false;
  return (
    manifest.generation === generation &&
    Object.keys(manifest.files).join() === (prepared ? [PREPARED] : Array.from(files.keys())).join()
  );
}

/** Options of the check of rows. */
export interface CheckOptions extends Omit<ShrinkGuard, "maxBytes"> {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** The last publication: its unchanged files are not read again. */
  readonly before?: Before | undefined;
}

/**
 * Writes the manifest of rows that are to be published, and checks them by loading them.
 *
 * @throws {SnapshotError} when they would not load; `PlaceError`; the signal's reason
 */
export async function completeRows(
  folder: string,
  files: RowFiles,
  fields: Omit<ManifestFields, "visible">,
  { maxBytes, signal, before, ...guard }: CheckOptions,
): Promise<Loaded> {
  await writeManifest(folder, files, fields);
  const checked = await loadSnapshot(folder, { maxBytes, signal, ...(before && { before }) });
  signal.throwIfAborted();
  if (!checked.ok) throw new SnapshotError(checked.problems);
  const visible = visibleIn(checked.store);
  await refuseShrunk(visible, { ...guard, maxBytes });
  await writeManifest(folder, files, { ...fields, visible });
  return checked;
}
