/** `orrery check`: would this snapshot load, and what is in it? */

import { loadAsServed } from "../server/load/threaded-loader.ts";
import { type FileReport, type Loaded, loadSnapshot } from "../snapshot/load.ts";
import { formatColumns } from "./columns.ts";
import type { CommandIo, Program } from "./command.ts";
import { type Options, ProblemsError } from "./options.ts";
import { startProgress } from "./progress.ts";
import { fetchSnapshot } from "./source.ts";

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

/** Runs the command. */
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
  const json = options.values.json;
  if (!result.ok) {
    if (json) io.print(`${JSON.stringify({ ok: false, problems: result.problems }, null, 2)}\n`);
    throw new ProblemsError(result.problems);
  }
  io.print(json ? `${JSON.stringify(jsonOf(result), null, 2)}\n` : textOf(result));
}
