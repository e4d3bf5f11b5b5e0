/**
 * Search for similar names: what it finds, what it costs, and what it costs others.
 *
 *     npx tsx bench/similar.ts [--smoke] [--users 1000000]
 *
 * The server runs with `--similar on`. Printed are: when the index is ready,
 * counted from listening, and the growth of the process by it; of names of users
 * with one random edit (5 and more code points) and with two (9 and more) how
 * many are on the first page, each name in the share in which it is there, and
 * the latency of these searches, one after the other, on the wire and in CPU time
 * of the server; and the latency of lookups at a constant rate alone and beside
 * such searches. An edit inserts, deletes, replaces or swaps; letters are those of
 * names of the same script.
 */

import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { addKey } from "../src/auth/keys-file.ts";
import type { Observation } from "../src/observe/events.ts";
import { fold, readTerm } from "../src/search/fold.ts";
import { createRandom, type Random } from "../src/util/random.ts";
import { ask, forkServer, said, snapshotOf, visibleWorlds } from "./support/child.ts";
import { constantLoad, median, percentile } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import type { Report } from "./support/server.ts";

const values = readOptions({
  options: { smoke: { type: "boolean", default: false }, users: { type: "string" } },
});
const users = Number(values.users ?? (values.smoke ? 2000 : 1_000_000));
const searches = values.smoke ? 100 : 1000;
const rounds = values.smoke ? 1 : 5;
const roundMs = values.smoke ? 500 : 5000;
/** Lookups a second. */
const RATE = 500;

const random = createRandom(17, "similar");

/** Code points of names of a script, repeated as they are there. */
type Letters = Map<string, string[]>;

const SCRIPTS = ["Latin", "Han", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Greek", "Arabic", "Thai"];
const OF_SCRIPTS = SCRIPTS.map((script) => [script, new RegExp(`\\p{Script=${script}}`, "u")] as const);

function scriptOf(letter: string): string {
  return OF_SCRIPTS.find(([, pattern]) => pattern.test(letter))?.[0] ?? "other";
}

function lettersOf(names: readonly string[]): Letters {
  const letters: Letters = new Map();
  for (const name of names) {
    for (const letter of name) {
      const script = scriptOf(letter);
      const known = letters.get(script);
      if (known === undefined) letters.set(script, [letter]);
      else known.push(letter);
    }
  }
  return letters;
}

function pick<Value>(list: readonly Value[], source: Random): Value {
  return list[source.below(list.length)]!;
}

/** One random edit. */
function edit(name: string, letters: Letters): string {
  const points = [...name];
  const at = random.below(points.length);
  const other = pick(letters.get(scriptOf(points[at]!))!, random);
  const kind = random.below(4);
  if (kind === 0) points.splice(at, 0, other);
  else if (kind === 1) points.splice(at, 1);
  else if (kind === 2) points[at] = other;
  else {
    const first = Math.min(at, points.length - 2);
    points.splice(first, 2, points[first + 1]!, points[first]!);
  }
  return points.join("");
}

function misspelt(name: string, edits: number, letters: Letters): string {
  for (;;) {
    let query = name;
    for (let count = 0; count < edits; count++) query = edit(query, letters);
    if (readTerm(query) !== "" && readTerm(query) !== name) return query;
  }
}

const agent = new Agent({ keepAlive: true });

function fetchText(url: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve(text));
    }).on("error", reject);
  });
}

console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]!.model}; ${users} users`);
const snapshot = await snapshotOf(users);
const rows = readFileSync(join(snapshot, "users.ndjson"), "utf8").trimEnd().split("\n");
const names = rows.map((row) => fold((JSON.parse(row) as { displayName: string }).displayName));
const letters = lettersOf(names.slice(0, 100_000));
const keys = join(tmpdir(), `orrery-bench-keys-${process.pid}.json`);
const headers = {
  Authorization: `Bearer ${await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" })}`,
};

const server = forkServer(snapshot, keys, "0", "1", "similar");
const ready = new Promise<void>((resolve) => {
  server.on("message", ({ observation }: { observation?: Observation }) => {
    if (observation?.kind === "similar-ready") resolve();
  });
});
const url = await said<string>(server, "url");
const began = performance.now();
const before = await ask<Report>(server, "report", "report");
await ready;
const seconds = ((performance.now() - began) / 1000).toFixed(1);
const indexed = await ask<Report>(server, "report", "report");
const grown = Math.round((indexed.rss - before.rss) / 1e6);
const spent = ((indexed.cpuMs - before.cpuMs) / 1000).toFixed(1);
console.log(`ready ${seconds} s after listening, ${spent} s of CPU; the process grew by ${grown} MB`);

function targetOf(query: string): string {
  return `${url}/users/search?match=similar&q=${encodeURIComponent(query)}`;
}

/** Milliseconds, as they are printed. */
function told(times: Float64Array): string {
  const sorted = times.toSorted();
  return `p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(1)} ms`;
}

interface Page {
  readonly data: readonly { readonly displayName: string }[];
  readonly match: string;
}

for (const [edits, shortest] of [
  [1, 5],
  [2, 9],
] as const) {
  const long = names.filter((name) => [...name].length >= shortest);
  const times = new Float64Array(searches);
  const cpuTimes = new Float64Array(searches);
  let found = 0;
  for (let at = 0; at < searches; at++) {
    const name = pick(long, random);
    const target = targetOf(misspelt(name, edits, letters));
    const cpuBefore = (await ask<Report>(server, "report", "report")).cpuMs;
    const start = performance.now();
    const page = JSON.parse(await fetchText(target, headers)) as Page;
    times[at] = performance.now() - start;
    cpuTimes[at] = (await ask<Report>(server, "report", "report")).cpuMs - cpuBefore;
    if (page.match !== "similar") throw new Error(`${target}: ${page.match}`);
    if (page.data.some(({ displayName }) => fold(displayName) === name)) found++;
  }
  const share = ((found / searches) * 100).toFixed(1);
  const least = `${edits} edit${edits > 1 ? "s" : ""}, ${shortest} and more code points`;
  console.log(
    `${least}: ${share} % of ${searches} on the first page; ${told(times)}, of CPU ${told(cpuTimes)}`,
  );
}

const worlds = visibleWorlds(snapshot);
const long = names.filter((name) => [...name].length >= 5);

function lookUp(): ReturnType<typeof constantLoad> {
  const end = performance.now() + roundMs;
  return constantLoad(
    () => `${url}/worlds/${pick(worlds, random)}`,
    headers,
    RATE,
    () => performance.now() > end,
  );
}

async function besideSearches(): Promise<{ p99: number; searched: number }> {
  let isOver = false;
  let searched = 0;
  const searcher = (async () => {
    for (; !isOver; searched++) await fetchText(targetOf(misspelt(pick(long, random), 1, letters)), headers);
  })();
  const { p99 } = await lookUp();
  isOver = true;
  await searcher;
  return { p99, searched };
}

await lookUp();
const alone: number[] = [];
const beside: number[] = [];
let searched = 0;
for (let round = 0; round < rounds; round++) {
  alone.push((await lookUp()).p99);
  const during = await besideSearches();
  beside.push(during.p99);
  searched += during.searched;
}
const ratio = median(beside) / median(alone);
console.log(
  `world-by-id at ${RATE}/s: p99 ${median(alone).toFixed(2)} ms alone, ${median(beside).toFixed(2)} ms beside ` +
    `${(searched / rounds / (roundMs / 1000)).toFixed(0)} similar searches/s: ${ratio.toFixed(2)} ×`,
);
agent.destroy();
server.kill("SIGKILL");
