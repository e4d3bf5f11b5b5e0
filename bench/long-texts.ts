/**
 * Long descriptions without white space, in a script of thousands of signs: what
 * a start takes, how much memory, and what searches cost.
 *
 *     npx tsx bench/long-texts.ts [--smoke] [--worlds 20000] [--characters 12000] [--tree DIR] [--json FILE]
 *
 * Characters are drawn one by one, as often as in written Chinese: the hundred
 * most frequent of 3,500 make 43 % of a text, a thousand 94 %. So nearly every
 * three in a row are there but once, which is the most that an index can be
 * given. With `--tree` another checkout is measured, for a comparison in the
 * same hour.
 */

import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addKey } from "../src/auth/keys-file.ts";
import { createRandom } from "../src/util/random.ts";
import { linesOf } from "./support/child.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, saveJson, whole } from "./support/output.ts";
import { measureStart } from "./support/started.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    worlds: { type: "string" },
    characters: { type: "string" },
    tree: { type: "string" },
    json: { type: "string" },
  },
});
const worlds = Number(values.worlds ?? (values.smoke ? 60 : 20_000));
const characters = Number(values.characters ?? (values.smoke ? 2000 : 12_000));

/** Characters in their share, to be drawn from by index. */
function drawTable(): Uint16Array {
  const weights = Array.from({ length: 3500 }, (_, rank) => Math.exp(-rank / 600) / (rank + 8) ** 0.6);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const table = new Uint16Array(65_536);
  let rank = 0;
  let below = weights[0]! / total;
  for (let at = 0; at < table.length; at++) {
    while (at / table.length > below && rank + 1 < weights.length) below += weights[++rank]! / total;
    // Neighbours in frequency are nowhere near each other in the alphabet.
    table[at] = 0x4e00 + ((rank * 7919) % 20_900);
  }
  return table;
}

function idOf(kind: number, number: number): string {
  return `${kind.toString(16).padStart(8, "0")}-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
}

function writeRows(file: string, count: number, rowOf: (number: number) => object): void {
  const handle = openSync(file, "w");
  for (let number = 0; number < count; number++) writeSync(handle, `${JSON.stringify(rowOf(number))}\n`);
  closeSync(handle);
}

/** Makes the snapshot, once. */
function snapshotOfLongTexts(): string {
  const folder = join(tmpdir(), `orrery-long-texts-${worlds}-${characters}`);
  // Written last.
  if (existsSync(join(folder, "instances.ndjson"))) return folder;
  mkdirSync(folder, { recursive: true });
  const { below } = createRandom(12, "long texts");
  const table = drawTable();
  const units = new Uint16Array(characters);
  const timeOf = (number: number): string => new Date(1.6e12 + number * 1000).toISOString();
  const users = Math.min(worlds, 1000);
  writeRows(join(folder, "users.ndjson"), users, (number) => ({
    ...{ id: idOf(1, number), displayName: `user ${number}`, userIconUrl: "", createdAt: timeOf(number) },
  }));
  writeRows(join(folder, "worlds.ndjson"), worlds, (number) => {
    for (let at = 0; at < units.length; at++) units[at] = table[below(table.length)]!;
    const description = new TextDecoder("utf-16le").decode(units);
    return {
      ...{ id: idOf(2, number), name: description.slice(0, 4 + (number % 6)), description },
      ...{ ownerId: idOf(1, number % users), isPublic: true, status: "ACTIVE" },
      ...{ createdAt: timeOf(number), updatedAt: timeOf(number) },
    };
  });
  writeRows(join(folder, "world-stats.ndjson"), worlds, (number) => ({
    ...{ worldId: idOf(2, number), totalVisits: (number * 7919) % 100_003 },
    ...{ uniqueVisitors: 0, visitsLast7Days: 0, visitsLast30Days: 0 },
  }));
  writeFileSync(join(folder, "instances.ndjson"), "");
  return folder;
}

const snapshot = snapshotOfLongTexts();
const texts = linesOf(join(snapshot, "worlds.ndjson")).flatMap((line) => {
  const { description } = JSON.parse(line) as { description: string };
  return Array.from({ length: 20 }, (_, at) => description.slice(at * 90, at * 90 + 40));
});
const keys = join(tmpdir(), `orrery-bench-keys-${process.pid}.json`);
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
const { tree } = values;
const start = await measureStart({
  ...{ snapshot, keys, token, texts, isSmoke: values.smoke },
  ...(tree === undefined ? {} : { tree }),
});
rmSync(keys);
const bytes = start.loaded.bytes;
const { served } = start;
console.log(`${machine()}; ${whole(worlds)} worlds of ${whole(characters)} characters.\n`);
console.log(
  markdown(
    ["", tree ?? "this tree"],
    [
      ["bytes of the files", whole(bytes)],
      ["listening after, s", fixed(start.listening / 1000, 1)],
      [
        "… read / pack / index, s",
        [start.loaded.readMs, start.loaded.packMs, start.loaded.indexMs]
          .map((ms) => fixed(ms / 1000, 1))
          .join(" / "),
      ],
      ["RSS steady / peak, MB", [start.steady, start.peak].map((size) => fixed(size / 1e6, 0)).join(" / ")],
      ["… times their bytes", [start.steady, start.peak].map((size) => fixed(size / bytes, 2)).join(" / ")],
      ["searches: p50 / p99, ms", [served.searchP50, served.searchP99].map((ms) => fixed(ms, 2)).join(" / ")],
    ],
  ),
);
saveJson(values.json, { worlds, characters, ...start });
