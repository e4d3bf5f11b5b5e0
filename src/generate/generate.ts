/** A synthetic snapshot: believable data of any size, the same for the same seed. */

import { createHash } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROW_FILES, type RowFile } from "../model.ts";
import { formatTime } from "../time.ts";
import {
  createPlan,
  drawInstances,
  drawStats,
  drawUsers,
  drawWorlds,
  LAST_MOMENT,
  type Plan,
} from "./rows.ts";
import { type Written, writeRows } from "./write.ts";

/** What to make. */
export interface GenerateOptions {
  /** Folder to write to; made when missing, with its parents. */
  readonly out: string;
  /** Number of users, at least 0. */
  readonly users: number;
  /** Number of worlds, at least 0; about 95 % of them get statistics. */
  readonly worlds: number;
  /** Number of instances, at least 0. */
  readonly instances: number;
  /** Any safe integer; another seed gives other data. */
  readonly seed: number;
  /** Compress the row files. */
  readonly gzip: boolean;
}

const DRAWERS: Readonly<Record<RowFile, (plan: Plan) => Iterable<string>>> = {
  "users.ndjson": drawUsers,
  "worlds.ndjson": drawWorlds,
  "world-stats.ndjson": drawStats,
  "instances.ndjson": drawInstances,
};

const MANIFEST = "manifest.json";

function temporary(path: string): string {
  return `${path}.tmp`;
}

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
  const contents = createHash("sha256");
  const files: Record<string, { rows: number; bytes: number; sha256: string }> = {};
  for (const [name, { rows, bytes, sha256, plainSha256 }] of written) {
    contents.update(plainSha256);
    files[name] = { rows, bytes, sha256 };
  }
  const manifest = {
    format: "orrery-snapshot/1",
    generation: `gen-${contents.digest("hex").slice(0, 16)}`,
    createdAt: formatTime(plan.newest === 0 ? LAST_MOMENT : plan.newest),
    files,
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/**
 * Writes a snapshot folder, over an earlier one if there is one.
 *
 * Rows depend on the seed and the counts alone, never on the clock or the
 * machine. All files are complete under temporary names before the first is
 * put in its place, and the manifest comes last, so that a reader sees either
 * a whole snapshot or one that contradicts its manifest.
 *
 * Gzipped bytes also depend on the zlib inside Node; the rows in them do not.
 *
 * @throws {RangeError} when a count or the seed is no such number, and any
 *   error of the file system; then the temporary files are gone
 */
export async function generateSnapshot(options: GenerateOptions): Promise<void> {
  checkOptions(options);
  const { out, gzip } = options;
  await mkdir(out, { recursive: true });
  const plan = createPlan(options);
  const written = new Map<string, Written>();
  const names = ROW_FILES.map((file) => (gzip ? `${file}.gz` : file));
  const manifest = join(out, MANIFEST);
  try {
    for (const [at, file] of ROW_FILES.entries()) {
      const name = names[at];
      written.set(name, await writeRows(temporary(join(out, name)), DRAWERS[file](plan), gzip));
    }
    await writeFile(temporary(manifest), describe(plan, written));
    for (const [at, file] of ROW_FILES.entries()) {
      await rename(temporary(join(out, names[at])), join(out, names[at]));
      await rm(join(out, gzip ? file : `${file}.gz`), { force: true });
    }
    await rename(temporary(manifest), manifest);
  } finally {
    const leftovers = [...names, MANIFEST].map((name) => temporary(join(out, name)));
    await Promise.all(leftovers.map((path) => rm(path, { force: true })));
  }
}
