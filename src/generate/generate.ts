/** A synthetic snapshot: believable data of any size, the same for the same seed. */

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROW_FILES } from "../model/model.ts";
import { formatTime } from "../model/time.ts";
import type { Values } from "../settings/settings.ts";
import { MANIFEST } from "../snapshot/files.ts";
import { FORMAT } from "../snapshot/manifest.ts";
import { fillFolder, generationOf } from "./folder.ts";
import { LAST_MOMENT } from "./heads.ts";
import { createPlan, type Plan, TABLES } from "./rows.ts";
import { type Written, writeRows } from "./write.ts";

/** What to make; the folder is made when missing, with its parents. About 95 % of the worlds get statistics. */
export type GenerateOptions = Omit<Values<"generate">, "force"> & Partial<Pick<Values<"generate">, "force">>;

function checkOptions(options: GenerateOptions): void {
  for (const what of ["users", "worlds", "instances"] as const) {
    const count = options[what];
    if (!Number.isSafeInteger(count) || count < 0)
      throw new RangeError(`${what} must be a whole number from 0`);
  }
  if (!Number.isSafeInteger(options.seed)) throw new RangeError("seed must be a safe integer");
}

/** The manifest's text. The generation is that of the rows, compressed or not. */
function describe(plan: Plan, written: ReadonlyMap<string, Written>): string {
  const files: Record<string, { rows: number; bytes: number; sha256: string }> = {};
  for (const [name, { rows, bytes, sha256 }] of written) files[name] = { rows, bytes, sha256 };
  const manifest = {
    format: FORMAT,
    generation: generationOf([...written.values()].map(({ plainSha256 }) => plainSha256)),
    createdAt: formatTime(plan.newest === 0 ? LAST_MOMENT : plan.newest),
    files,
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/**
 * Writes a snapshot folder.
 *
 * Rows depend on the seed and the counts alone, never on the clock or the
 * machine. Gzipped bytes also depend on the zlib inside Node; the rows in them
 * do not.
 *
 * @throws {RangeError} when a count or the seed is no such number
 * @throws {OccupiedError} when the folder holds anything that must not be
 *   replaced, and any error of the file system; then nothing was changed, but
 *   for an error while finished files are put in their place
 */
export async function generateSnapshot(options: GenerateOptions): Promise<void> {
  checkOptions(options);
  const { out, gzip, force = false } = options;
  await fillFolder(out, force, async (staging) => {
    const plan = createPlan(options);
    const written = new Map<string, Written>();
    for (const file of ROW_FILES) {
      const name = gzip ? `${file}.gz` : file;
      written.set(name, await writeRows(join(staging, name), TABLES[file](plan), gzip));
    }
    const manifest = describe(plan, written);
    await writeFile(join(staging, MANIFEST), manifest);
    return [
      ...[...written.values()].map(({ sha256 }) => sha256),
      createHash("sha256").update(manifest).digest("hex"),
    ];
  });
}
