/** `orrery check` tries to load a snapshot and reports its contents; `orrery diff` reports the changes of a reload to another. */

import { PERIODS } from "../model/model.ts";
import { loadInThread } from "../server/load/threaded-loader.ts";
import { diffStores, type SnapshotDiff, TOP } from "../snapshot/diff.ts";
import { type Loaded, loadSnapshot } from "../snapshot/load.ts";
import { noWorldsText } from "../snapshot/loaded.ts";
import { SnapshotError } from "../util/told-error.ts";
import type { CommandIo, Program } from "./command.ts";
import type { Options } from "./options.ts";
import { fetchSnapshot, refuseAddress } from "./source.ts";
import { formatColumns, jsonText, startProgress } from "./terminal.ts";

/** The report of a snapshot, as JSON shows it. */
function reportOf({ store, reports, bytes, prepared }: Loaded) {
  const files = reports.map(({ file, rows, hidden, dangling, bytes }) => {
    const visible = rows - Object.values(hidden).reduce((sum, count) => sum + count, 0);
    return { file, rows, visible, hidden, dangling, bytes };
  });
  return { ok: true, generation: store.id, bytes, files, prepared };
}

function textOf({ generation, bytes, files, prepared }: ReturnType<typeof reportOf>): string {
  const rows = files.map(({ file, rows, visible, dangling, bytes }) =>
    [file, rows, visible, rows - visible, dangling.count, bytes].map(String),
  );
  const head = ["file", "rows", "visible", "hidden", "dangling", "bytes"];
  const lines = [`generation ${generation}\nsize       ${bytes} bytes\n\n`];
  lines.push(formatColumns([head, ...rows], [1, 2, 3, 4, 5]));
  const hidden = files.flatMap((report) =>
    Object.entries(report.hidden).map(([why, count]) => [`  ${report.file}`, String(count), why]),
  );
  if (hidden.length > 0) lines.push("\nhidden\n", formatColumns(hidden, [1]));
  const worlds = files.find(({ file }) => file.startsWith("worlds."));
  if (worlds?.visible === 0 && worlds.rows > 0) lines.push(`\n${noWorldsText(worlds.rows)}\n`);
  const dangling = files.filter((report) => report.dangling.count > 0);
  if (dangling.length > 0) lines.push("\ndangling references\n");
  for (const { dangling: found, file } of dangling) {
    for (const example of found.examples) lines.push(`  ${example}\n`);
    const more = found.count - found.examples.length;
    if (more > 0) lines.push(`  ${file}: … and ${more} more\n`);
  }
  if (prepared !== undefined) {
    const sections = Object.entries(prepared.sections).map(([name, size]) => [name, String(size)]);
    lines.push(
      `\nprepared from these files, format version ${prepared.version}\n`,
      formatColumns([["contents", "bytes"], ...sections], [1]),
    );
  }
  return lines.join("");
}

function fail(problems: readonly string[], { json }: { readonly json: boolean }, io: CommandIo): never {
  if (json) io.print(jsonText({ ok: false, problems }));
  throw new SnapshotError(problems);
}

export async function checkSnapshot(
  options: Options<"check">,
  io: CommandIo,
  program: Program,
): Promise<void> {
  const { folder, repair } = await fetchSnapshot(options, io, program);
  const bar = startProgress(io, "reading");
  const load = options.values.noIndex ? loadSnapshot : loadInThread;
  const loadOptions = { maxBytes: options.values.maxSnapshotBytes, onProgress: bar.show };
  let result = await load(folder, loadOptions);
  if (!result.ok) {
    const repaired = await repair();
    if (repaired !== undefined) result = await load(repaired, loadOptions);
  }
  bar.end();
  if (!result.ok) return fail(result.problems, options.values, io);
  const report = reportOf(result);
  io.print(options.values.json ? jsonText(report) : textOf(report));
}

async function loadForDiff(folder: string, options: Options<"diff">, io: CommandIo): Promise<Loaded> {
  const bar = startProgress(io, `reading ${folder}`);
  const maxBytes = options.values.maxSnapshotBytes;
  const result = await loadSnapshot(folder, { maxBytes, onProgress: bar.show });
  bar.end();
  if (result.ok) return result;
  const problems = result.problems.map((problem) => `${folder}: ${problem}`);
  return fail(problems, options.values, io);
}

function diffText({ from, to, refusals, tables, becomeHidden, moves }: SnapshotDiff): string {
  const rows = Object.entries(tables).map(([name, diff]) => {
    const { added, removed, changed }: { added?: number; removed?: number; changed: number } = diff;
    return [name, String(added ?? "–"), String(removed ?? "–"), String(changed)];
  });
  const lines = [`${from} → ${to}\n\n`];
  lines.push(formatColumns([["visible rows", "added", "removed", "changed"], ...rows], [1, 2, 3]));
  if (refusals.length > 0) {
    lines.push("\na server would refuse this reload\n", ...refusals.map((line) => `  ${line}\n`));
  }
  if (becomeHidden.count > 0) {
    const more = becomeHidden.count - becomeHidden.examples.length;
    lines.push(
      `\n${becomeHidden.count === 1 ? "1 world becomes" : `${becomeHidden.count} worlds become`} hidden\n`,
    );
    lines.push(formatColumns(becomeHidden.examples.map(({ id, name }) => [`  ${id}`, name])));
    if (more > 0) lines.push(`  … and ${more} more\n`);
  }
  for (const period of PERIODS) {
    if (moves[period].length === 0) continue;
    lines.push(`\nlargest moves in and out of the first ${TOP}, ${period}\n`);
    const cells = moves[period].map((move) => [`  ${move.from}`, `→ ${move.to}`, move.id, move.name]);
    lines.push(formatColumns(cells));
  }
  return lines.join("");
}

export async function diff(options: Options<"diff">, io: CommandIo): Promise<void> {
  const [from, to] = options.positionals;
  refuseAddress("FROM", from!);
  refuseAddress("TO", to!);
  const before = await loadForDiff(from!, options, io);
  const after = await loadForDiff(to!, options, io);
  const found = diffStores(before.store, after.store, after.hiddenWorlds!);
  io.print(options.values.json ? jsonText(found) : diffText(found));
}
