/** `orrery diff`: what would a reload from one snapshot to another change? */

import { PERIODS } from "../model/model.ts";
import { diffStores, type SnapshotDiff, TOP } from "../snapshot/diff.ts";
import { type Loaded, loadSnapshot } from "../snapshot/load.ts";
import { formatColumns } from "./columns.ts";
import type { CommandIo } from "./command.ts";
import { type Options, ProblemsError } from "./options.ts";
import { startProgress } from "./progress.ts";
import { refuseAddress } from "./source.ts";

async function load(folder: string, options: Options<"diff">, io: CommandIo): Promise<Loaded> {
  const bar = startProgress(io, `reading ${folder}`);
  const maxBytes = options.values.maxSnapshotBytes;
  const result = await loadSnapshot(folder, { maxBytes, keepHiddenIds: true, onProgress: bar.show });
  bar.end();
  if (!result.ok) {
    const problems = result.problems.map((problem) => `${folder}: ${problem}`);
    if (options.values.json) io.print(`${JSON.stringify({ ok: false, problems }, null, 2)}\n`);
    throw new ProblemsError(problems);
  }
  return result;
}

function textOf({ from, to, refusals, tables, becomeHidden, moves }: SnapshotDiff): string {
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

/** Runs the command. */
export async function diff(options: Options<"diff">, io: CommandIo): Promise<void> {
  const [from, to] = options.positionals;
  refuseAddress("FROM", from!);
  refuseAddress("TO", to!);
  const before = await load(from!, options, io);
  const after = await load(to!, options, io);
  const hidden = after.reports.find((report) => report.table === "worlds.ndjson")!.hiddenIds!;
  const found = diffStores(before.store, after.store, hidden);
  io.print(options.values.json ? `${JSON.stringify(found, null, 2)}\n` : textOf(found));
}
