/** `orrery check` tries to load a snapshot and reports its contents; `orrery diff` reports the changes of a reload to another. */

import { PERIODS } from "../model/model.ts";
import { loadAsServed } from "../server/load/threaded-loader.ts";
import { diffStores, type SnapshotDiff, TOP } from "../snapshot/diff.ts";
import { type FileReport, type Loaded, loadSnapshot } from "../snapshot/load.ts";
import { SnapshotError } from "../util/told-error.ts";
import type { CommandIo, Program } from "./command.ts";
import type { Options } from "./options.ts";
import { fetchSnapshot, refuseAddress } from "./source.ts";
import { formatColumns, jsonText, startProgress } from "./terminal.ts";

function hiddenIn({ hidden }: FileReport): number {
  return [...hidden.values()].reduce((sum, count) => sum + count, 0);
}

function tableOf(reports: readonly FileReport[]): string {
  const rows = reports.map((report) => {
    const hidden = hiddenIn(report);
    return [report.file, report.rows, report.rows - hidden, hidden, report.dangling.count, report.bytes].map(
      String,
    );
  });
  const head = ["file", "rows", "visible", "hidden", "dangling", "bytes"];
  return formatColumns([head, ...rows], [1, 2, 3, 4, 5]);
}

function textOf({ store, reports, bytes, prepared }: Loaded): string {
  const lines = [`generation ${store.id}\nsize       ${bytes} bytes\n\n`, tableOf(reports)];
  const hidden = reports.flatMap((report) =>
    [...report.hidden].map(([why, count]) => [`  ${report.file}`, String(count), why]),
  );
  if (hidden.length > 0) lines.push("\nhidden\n", formatColumns(hidden, [1]));
  const dangling = reports.filter((report) => report.dangling.count > 0);
  if (dangling.length > 0) lines.push("\ndangling references\n");
  for (const { dangling: found, file } of dangling) {
    for (const example of found.examples) lines.push(`  ${example}\n`);
    const more = found.count - found.examples.length;
    if (more > 0) lines.push(`  ${file}: … and ${more} more\n`);
  }
  if (prepared !== undefined) {
    const sections = Array.from(prepared.sections, ([name, size]) => [name, String(size)]);
    lines.push(
      `\nprepared from these files, format version ${prepared.version}\n`,
      formatColumns([["contents", "bytes"], ...sections], [1]),
    );
  }
  return lines.join("");
}

function jsonOf({ store, reports, bytes, prepared }: Loaded): object {
  const files = reports.map((report) => ({
    file: report.file,
    rows: report.rows,
    visible: report.rows - hiddenIn(report),
    hidden: Object.fromEntries(report.hidden),
    dangling: { count: report.dangling.count, examples: report.dangling.examples },
    bytes: report.bytes,
  }));
  const result = { ok: true, generation: store.id, bytes, files };
  if (prepared === undefined) return result;
  return { ...result, prepared: { ...prepared, sections: Object.fromEntries(prepared.sections) } };
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
  const load = options.values.noIndex ? loadSnapshot : loadAsServed;
  const loadOptions = { maxBytes: options.values.maxSnapshotBytes, onProgress: bar.show };
  let result = await load(folder, loadOptions);
  if (!result.ok) {
    const repaired = await repair();
    if (repaired !== undefined) result = await load(repaired, loadOptions);
  }
  bar.end();
  if (!result.ok) return fail(result.problems, options.values, io);
  io.print(options.values.json ? jsonText(jsonOf(result)) : textOf(result));
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
