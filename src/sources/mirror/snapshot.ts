/** What a mirror has collected, as a snapshot. */

import { join } from "node:path";
import { currentVersion, publishVersion } from "../../files/publish.ts";
import { FIELDS, TABLES, type TableName } from "../../model/schema.ts";
import { readManifestOf } from "../../snapshot/manifest.ts";
import type { MirrorNote } from "../../upstream/mirror-note.ts";
import { type WrittenFile, writeRowFile } from "../row-file.ts";
import { completeRows, generationOfRows, holdsSame, type RowFiles, renewManifest } from "../row-folder.ts";
import type { Collected } from "./collect.ts";

/** Where to publish, and what is said of it. */
export interface MirrorPlace {
  /** The place of the link; see {@link publishVersion}. */
  readonly out: string;
  readonly from: string;
  readonly searches: readonly string[];
  /** Most bytes of rows. */
  readonly maxBytes: number;
  /** How many earlier versions are kept, and whether what is published may lose most of its users or worlds. */
  readonly keep?: number;
  readonly allowShrink?: boolean;
  readonly signal: AbortSignal;
}

/** What is published. */
export interface Published {
  readonly generation: string;
  /** False when it was published before. */
  readonly isNew: boolean;
}

async function* linesOf(rows: readonly object[]): AsyncGenerator<Buffer, void> {
  const step = 1000;
  for (let at = 0; at < rows.length; at += step) {
    yield Buffer.from(
      rows
        .slice(at, at + step)
        .map((row) => `${JSON.stringify(row)}\n`)
        .join(""),
    );
  }
}

/** A row with the fields that no reply shows: those of a visible one are known. */
function withHidden(table: TableName, row: object): object {
  const shown = FIELDS[table].map(({ name, shows }) => [name, shows?.only]);
  return { ...Object.fromEntries(shown), ...row };
}

async function writeRows(folder: string, { users, worlds, stats, instances }: Collected): Promise<RowFiles> {
  const tables = { users, worlds, "world-stats": stats, instances };
  const files = new Map<string, WrittenFile>();
  for (const table of TABLES) {
    const name = `${table}.ndjson`;
    const rows = tables[table].map((row) => withHidden(table, row));
    files.set(name, await writeRowFile(join(folder, name), linesOf(rows), false));
  }
  return files;
}

/**
 * Publishes what was collected, unless just that is published.
 *
 * @param createdAt the moment of the data, in milliseconds since the epoch
 * @throws `BadRowsError`, `ShrunkError`, `OccupiedError`; errors of the file system
 */
export async function publishCollected(
  collected: Collected,
  createdAt: number,
  { out, from, searches, maxBytes, keep, allowShrink, signal }: MirrorPlace,
): Promise<Published> {
  let generation = "";
  const note: MirrorNote = {
    ...{ from, searches, totalUsers: collected.platform.totalUsers },
    generation: collected.generation?.slice(1, -1) ?? null,
  };
  const published = await publishVersion(
    out,
    async (folder, current) => {
      const files = await writeRows(folder, collected);
      generation = generationOfRows("mirror", files);
      if (current !== undefined && (await holdsSame(current, generation, files, false))) {
        await renewManifest(current, createdAt);
        return undefined;
      }
      const fields = { generation, createdAt, more: { mirror: note } };
      await completeRows(folder, files, fields, { current, allowShrink, maxBytes, signal });
      return generation;
    },
    { keep },
  );
  return { generation, isNew: published !== undefined };
}

/** Renews the moment of the data if a generation is what the link leads to. @returns whether it is */
export async function renewPublished(out: string, generation: string, createdAt: number): Promise<boolean> {
  const current = await currentVersion(out);
  if (current === undefined || (await readManifestOf(current))?.generation !== generation) return false;
  await renewManifest(current, createdAt);
  return true;
}
