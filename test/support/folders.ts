/** Snapshot folders for tests: rows, files, manifests, and temporary places to put them. */

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { ROW_FILES, type RowFile } from "../../src/model/model.ts";
import { FIELDS, type FieldType, type TableName } from "../../src/model/schema.ts";

/** A row as a test writes it; any field may be wrong. */
export type RawRow = Record<string, unknown>;

export type Contents = readonly RawRow[] | string | Buffer;

/** Makes a folder that is removed after the test, or, without a test, at the end of this process. */
export function temporaryFolder(test?: { after(done: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), "orrery-test-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  if (test === undefined) process.once("exit", remove);
  else test.after(remove);
  return folder;
}

/** The UUID number `n` of a kind: `id("a", 7)` is `aaaaaaaa-0000-4000-8000-000000000007`. */
export function id(kind: string, n: number): string {
  return `${kind.repeat(8)}-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
}

/** A value of each type, for fields that a test does not name. */
const SOME: Readonly<Record<FieldType, unknown>> = {
  id: id("d", 1),
  text: "some text",
  boolean: true,
  count: 31_415_926,
  time: "2026-05-06T07:08:09.010Z",
};

/** A row with all fields of its table, in their order. */
export function filled(table: TableName, row: RawRow): RawRow {
  const fields = FIELDS[table].map(({ name, type }) => [name, name in row ? row[name] : SOME[type]]);
  return { ...Object.fromEntries(fields), ...row };
}

export function user(n: number, more: RawRow = {}): RawRow {
  return filled("users", {
    id: id("a", n),
    displayName: `user ${n}`,
    userIconUrl: `https://icons.example/${n}`,
    createdAt: "2026-01-02T03:04:05.006Z",
    ...more,
  });
}

export function world(n: number, more: RawRow = {}): RawRow {
  return filled("worlds", {
    id: id("b", n),
    name: `world ${n}`,
    description: `about world ${n}`,
    ownerId: id("a", 1),
    isPublic: true,
    status: "ACTIVE",
    createdAt: "2026-02-03T04:05:06.007Z",
    updatedAt: "2026-03-04T05:06:07.008Z",
    ...more,
  });
}

export function worldStats(n: number, more: RawRow = {}): RawRow {
  return filled("world-stats", {
    worldId: id("b", n),
    totalVisits: 1004,
    uniqueVisitors: 1003,
    visitsLast7Days: 1001,
    visitsLast30Days: 1002,
    ...more,
  });
}

export function instance(n: number, more: RawRow = {}): RawRow {
  return filled("instances", {
    id: id("c", n),
    worldId: id("b", 1),
    isPublic: true,
    isActive: true,
    createdAt: "2026-04-05T06:07:08.009Z",
    ...more,
  });
}

export const GOOD_ROWS: Readonly<Record<RowFile, RawRow>> = {
  "users.ndjson": user(1),
  "worlds.ndjson": world(1),
  "world-stats.ndjson": worldStats(1),
  "instances.ndjson": instance(1),
};

export function bytesOf(contents: Contents): Buffer {
  if (typeof contents === "string") return Buffer.from(contents);
  if (Buffer.isBuffer(contents)) return contents;
  return Buffer.from((contents as readonly RawRow[]).map((row) => `${JSON.stringify(row)}\n`).join(""));
}

/** Stored files by name: one good row per table, unless given; null leaves a file out. */
export type Files = Readonly<Record<string, Contents | null>>;

/** The bytes of every file of a snapshot. A given `x.gz` replaces `x`. */
export function snapshotFiles(given: Files = {}): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const name of ROW_FILES) {
    if (!(name in given) && !(`${name}.gz` in given)) files.set(name, bytesOf([GOOD_ROWS[name]]));
  }
  for (const [name, contents] of Object.entries(given)) {
    if (contents !== null) files.set(name, bytesOf(contents));
  }
  return files;
}

export function writeFiles(folder: string, files: ReadonlyMap<string, Buffer>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
  return folder;
}

export function writeSnapshot(folder: string, given: Files = {}): string {
  return writeFiles(folder, snapshotFiles(given));
}

/** The manifest entry of a stored file. @param text its uncompressed bytes */
export function listed(bytes: Buffer, text = bytes): { rows: number; bytes: number; sha256: string } {
  return {
    rows: text
      .toString("utf8")
      .split("\n")
      .filter((line) => line.trim() !== "").length,
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  };
}

export function manifestOf(
  files: ReadonlyMap<string, Buffer>,
  generation: string,
): { format: unknown; generation: unknown; createdAt: unknown; files: Record<string, unknown> } {
  return {
    format: "orrery-snapshot/1",
    generation,
    createdAt: "2026-05-06T07:08:09.010Z",
    files: Object.fromEntries(
      Array.from(files, ([name, bytes]) => [
        name,
        listed(bytes, name.endsWith(".gz") ? gunzipSync(bytes) : bytes),
      ]),
    ),
  };
}

export function withManifest(files: ReadonlyMap<string, Buffer>, generation: string): Map<string, Buffer> {
  return new Map(files).set("manifest.json", Buffer.from(JSON.stringify(manifestOf(files, generation))));
}

/** Contents of a published folder without the time of its publication. */
export function contents(out: string): Record<string, string> {
  const names = readdirSync(out).sort();
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(join(out, name), "utf8").replace(/"createdAt": "[^"]*"/, "")]),
  );
}

export function readRows(folder: string, table: string): RawRow[] {
  const file = join(folder, `${table}.ndjson`);
  const text = existsSync(file) ? readFileSync(file) : gunzipSync(readFileSync(`${file}.gz`));
  const lines = text.toString().split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as RawRow);
}

/** A compressed file of one user and blank lines that takes about `times` thirds of a second to read. */
export function slowRows(times: number): Buffer {
  const member = gzipSync(Buffer.alloc(67_108_864, `${" ".repeat(999)}\n`), { level: 1 });
  return Buffer.concat([gzipSync(bytesOf([user(1)])), ...Array<Buffer>(times).fill(member)]);
}
