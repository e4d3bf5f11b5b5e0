/** `orrery check`: would this snapshot load, and what is in it? */

import { type FileReport, type Loaded, loadSnapshot } from "../snapshot/load.ts";
import { formatColumns } from "./columns.ts";
import type { World } from "./commands.ts";
import { type Options, ProblemsError } from "./options.ts";

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
  const head = ["file", "rows", "visible", "hidden", "points nowhere", "bytes"];
  return formatColumns([head, ...rows], [1, 2, 3, 4, 5]);
}

function reportOf({ store, reports }: Loaded): string {
  const lines = [`generation ${store.id}\n\n`, tableOf(reports)];
  const hidden = reports.flatMap((report) =>
    [...report.hidden].map(([why, count]) => [`  ${report.file}`, String(count), why]),
  );
  if (hidden.length > 0) lines.push("\nhidden\n", formatColumns(hidden, [1]));
  const dangling = reports.filter((report) => report.dangling.count > 0);
  if (dangling.length > 0) lines.push("\npoints nowhere\n");
  for (const { dangling: found, file } of dangling) {
    for (const example of found.examples) lines.push(`  ${example}\n`);
    const more = found.count - found.examples.length;
    if (more > 0) lines.push(`  ${file}: … and ${more} more\n`);
  }
  return lines.join("");
}

/** Runs the command. */
export async function check(options: Options, world: World): Promise<void> {
  const result = await loadSnapshot(options.positionals[0]!, {
    maxBytes: options.integer("max-snapshot-bytes"),
  });
  if (!result.ok) throw new ProblemsError(result.problems);
  world.print(reportOf(result));
}
