/** A folder of rows on its way to being published: its generation, its manifest, and whether it would load. */

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatTime } from "../model/time.ts";
import { MANIFEST, PREPARED } from "../snapshot/files.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import { FORMAT, readManifestOf } from "../snapshot/manifest.ts";
import { isObject } from "../util/json.ts";
import type { WrittenFile } from "./row-file.ts";

/** The rows would not load; nothing was published. */
export class BadRowsError extends Error {
  override name = "BadRowsError";

  /** As `check` prints them, one a line. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems[0]);
    this.problems = problems;
  }
}

/** What was written, by the names of the files. */
export type RowFiles = ReadonlyMap<string, WrittenFile>;

/** The same for the same rows in the same order, compressed or not. @param prefix what the rows come from */
export function generationOf(prefix: string, files: RowFiles): string {
  const hash = createHash("sha256");
  for (const { plainSha256 } of files.values()) hash.update(plainSha256);
  return `${prefix}-${hash.digest("hex").slice(0, 16)}`;
}

/** Writes the manifest beside the files. @param more fields that no load reads */
export async function writeManifest(
  folder: string,
  generation: string,
  files: RowFiles,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const manifest = {
    format: FORMAT,
    generation,
    createdAt: formatTime(Date.now()),
    files: Object.fromEntries(
      Array.from(files, ([name, { rows, bytes, sha256 }]) => [name, { rows, bytes, sha256 }]),
    ),
    ...more,
  };
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Whether a published folder holds the same rows in the same form. */
export async function holdsSame(
  current: string | undefined,
  generation: string,
  files: RowFiles,
  prepared: boolean,
): Promise<boolean> {
  const manifest = current === undefined ? undefined : await readManifestOf(current);
  if (!isObject(manifest?.files)) return false;
  return (
    manifest.generation === generation &&
    Object.keys(manifest.files).join() === (prepared ? [PREPARED] : Array.from(files.keys())).join()
  );
}

/** Has the rows checked as a load would. @throws {BadRowsError}; the signal's reason */
export async function checkRows(
  folder: string,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<void> {
  const checked = await loadSnapshot(folder, { maxBytes, signal });
  signal.throwIfAborted();
  if (!checked.ok) throw new BadRowsError(checked.problems);
}
