/** `orrery check` tries to load a snapshot and reports its contents. */

import { loadInThread } from "../server/load/threaded-loader.ts";
import { type Loaded, loadSnapshot } from "../snapshot/load.ts";
import { noWorldsText } from "../snapshot/loaded.ts";
import { PREPARED_VERSION } from "../snapshot/prepared/layout.ts";
import { SnapshotError } from "../util/user-error.ts";
import type { CommandIo } from "./command.ts";
import { type Options, refuseAddress } from "./options.ts";
import { formatColumns, jsonText, startProgress } from "./terminal.ts";

function reportOf({ store, reports, bytes, kept }: Loaded) {
  const files = reports.map(({ file, rows, hidden, dangling, bytes }) => {
    const visible = rows - Object.values(hidden).reduce((sum, count) => sum + count, 0);
    return { file, rows, visible, hidden, dangling, bytes };
  });
  // Files of other versions do not load.
  const prepared = kept.prepared && { version: PREPARED_VERSION };
  return { ok: true, generation: store.id, bytes, files, prepared };
}

function reportText({ generation, bytes, files, prepared }: ReturnType<typeof reportOf>): string {
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
  if (prepared) lines.push(`\nprepared from these files, format version ${prepared.version}\n`);
  return lines.join("");
}

export async function checkSnapshot({ values, positionals }: Options<"check">, io: CommandIo): Promise<void> {
  const folder = positionals[0]!;
  refuseAddress(folder);
  const bar = startProgress(io, "reading");
  const load = values.noIndex ? loadSnapshot : loadInThread;
  const result = await load(folder, { onProgress: bar.show });
  bar.end();
  if (!result.ok) {
    if (values.json) io.print(jsonText({ ok: false, problems: result.problems }));
    throw new SnapshotError(result.problems);
  }
  const report = reportOf(result);
  io.print(values.json ? jsonText(report) : reportText(report));
}
