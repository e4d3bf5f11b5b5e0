/** Broken rows of an export: named by table and id, since their file is never published, and left out where that is allowed. */

import { createReadStream } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import { ROWS } from "../model/schema.ts";
import { isObject, parsedJson } from "../util/json.ts";
import { type RowFiles, type WrittenFile, writeRowFile } from "./row-folder.ts";

/** A problem of one row: `users.ndjson:3: displayName: is null`. */
const OF_ROW = /^((?:users|worlds|world-stats|instances)\.ndjson(?:\.gz)?):(\d+): (.*)$/s;

interface BrokenRow {
  readonly file: string;
  readonly line: number;
  readonly what: string;
}

/** The row of a problem; undefined if it is not of a row. */
function rowOf(problem: string): BrokenRow | undefined {
  const [, file, line, what] = OF_ROW.exec(problem) ?? [];
  return file === undefined ? undefined : { file, line: Number(line), what: what! };
}

function linesByFile(rows: readonly BrokenRow[]): Map<string, Set<number>> {
  const byFile = new Map<string, Set<number>>();
  for (const { file, line } of rows) byFile.set(file, (byFile.get(file) ?? new Set()).add(line));
  return byFile;
}

export async function* linesOf(folder: string, file: string): AsyncGenerator<string, void> {
  const stored = createReadStream(join(folder, file));
  const plain = file.endsWith(".gz") ? stored.pipe(createGunzip()) : stored;
  yield* createInterface({ input: plain, crlfDelay: Number.POSITIVE_INFINITY });
}

/** The ids of rows by file and line, such as `users.ndjson:3`. */
async function idsOf(folder: string, rows: readonly BrokenRow[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const [file, wanted] of linesByFile(rows)) {
    let number = 0;
    for await (const line of linesOf(folder, file)) {
      if (!wanted.has(++number)) continue;
      const row = parsedJson(line);
      const id = isObject(row) ? (row.id ?? row.worldId) : undefined;
      if (typeof id === "string") ids.set(`${file}:${number}`, id);
    }
  }
  return ids;
}

/** Names the rows of problems by table and id: `users, id 00000000-…: displayName: is null`. */
export async function nameRows(folder: string, problems: readonly string[]): Promise<string[]> {
  const broken = problems.flatMap((problem) => rowOf(problem) ?? []);
  const ids = await idsOf(folder, broken);
  return problems.map((problem) => {
    const row = rowOf(problem);
    if (row === undefined) return problem;
    const { file, line, what } = row;
    const id = ids.get(`${file}:${line}`);
    return `${file.replace(/\.ndjson.*/, "")}, ${id === undefined ? `row ${line}` : `id ${id}`}: ${what}`;
  });
}

/** Files without the rows that problems name. @returns undefined if a problem is not of a row @throws errors of the file system */
export async function leaveOut(
  folder: string,
  files: RowFiles,
  problems: readonly string[],
): Promise<{ readonly files: RowFiles; readonly count: number } | undefined> {
  // The line "… and N more" names no rows. The next check finds them.
  const named = problems.filter((problem) => !/^… and \d+ more$/.test(problem));
  const broken = named.flatMap((problem) => rowOf(problem) ?? []);
  if (broken.length === 0 || broken.length < named.length) return undefined;
  const others = new Map<string, WrittenFile>(files);
  let count = 0;
  for (const [file, lines] of linesByFile(broken)) {
    count += lines.size;
    const rest = async function* (): AsyncGenerator<Buffer, void> {
      let number = 0;
      for await (const line of linesOf(folder, file))
        if (!lines.has(++number)) yield Buffer.from(`${line}\n`);
    };
    // The file may be a link to that of an earlier version.
    const draft = join(folder, `${file}.rest`);
    others.set(file, await writeRowFile(draft, rest(), file.endsWith(".gz")));
    await rename(draft, join(folder, file));
  }
  return { files: others, count };
}

export const SHOWN_STATUS = ROWS.worlds.status.shows.only;

const MOST_STATUSES = 3;

/** The most frequent values of `status` besides that of visible worlds, most frequent first. */
export async function otherStatuses(folder: string, file: string): Promise<string[]> {
  const counts = new Map<string, number>();
  for await (const line of linesOf(folder, file)) {
    const row = parsedJson(line);
    const status = isObject(row) ? row.status : undefined;
    if (typeof status === "string" && status !== SHOWN_STATUS)
      counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_STATUSES);
  return sorted.map(([status, count]) => `${JSON.stringify(status)} (${count})`);
}
