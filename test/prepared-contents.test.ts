/** Prepared files with right checksums and wrong contents: refused in one line, or every answer is JSON and none a 500. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openOrrery, SnapshotError } from "../src/mod.ts";
import { PREPARED } from "../src/snapshot/files.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { misfitRows } from "../src/snapshot/prepared/packed-rows.ts";
import { ENCODERS } from "../src/store/encoders.ts";
import { type Block, rowObject } from "../src/store/table.ts";
import { createRandom } from "../src/util/random.ts";
import {
  id,
  instance,
  temporaryFolder,
  user,
  world,
  worldStats,
  writeFiles,
  writeSnapshot,
} from "./support/folders.ts";
import { mustLoad } from "./support/loaded.ts";
import { part } from "./support/long.ts";
import { forge, forgeArray, partsOf, prepare, refusalOf } from "./support/prepared.ts";

const folder = temporaryFolder({ after });
const TOKEN = "svcx_damage";
let parts: ReturnType<typeof partsOf>;

const NAMES = ["sea moon", "moon", "moon", "月の光", "aaaa", "bananana", 'q"x', "abcabc", "a\n\u0001\ud800"];
const many = <Row>(count: number, row: (n: number) => Row): Row[] =>
  Array.from({ length: count }, (_, at) => row(at + 1));

before(async () => {
  const nameOf = (n: number): string => {
    const name = NAMES[n % NAMES.length]!;
    return n % 3 === 0 ? `${name} ${n} ${"y".repeat(n)}` : name;
  };
  const rows = writeSnapshot(join(folder, "rows"), {
    "users.ndjson": many(120, (n) => user(n, { displayName: nameOf(n) })),
    "worlds.ndjson": many(150, (n) =>
      world(n, { name: nameOf(n + 3), description: n % 4 ? `over the sea, ${nameOf(n)}` : null }),
    ),
    "world-stats.ndjson": many(150, (n) => worldStats(n, { totalVisits: n })),
    "instances.ndjson": many(40, (n) => instance(n, { worldId: id("b", 1 + (n % 9)) })),
  });
  await prepare(rows, join(folder, "good"));
  parts = partsOf(join(folder, "good"));
});

const BASE = "/api/public/v1";
const QUERIES = ["m", "mo", "moon", "sea moon", "aaaaa", "y", "yyyyyyyyyyyy", "月", "月の光", 'q"', "abca"];
const PAGES = ["limit=20", "limit=50&offset=30"];
const WORLD = id("b", 1);
const TARGETS = [
  ...["/stats", "/worlds?limit=50", "/worlds?limit=50&offset=100", "/instances?limit=50"],
  ...["all", "week", "month"].map((period) => `/worlds/popular?period=${period}&limit=50`),
  ...["", "/stats", "/instances"].map((rest) => `/worlds/${WORLD}${rest}`),
  ...["", "/worlds"].map((rest) => `/users/${id("a", 1)}${rest}`),
  ...["users", "worlds"].flatMap((table) =>
    QUERIES.flatMap((q) => PAGES.map((page) => `/${table}/search?q=${encodeURIComponent(q)}&${page}`)),
  ),
].map((target) => BASE + target);

/** Loads a file and, if it is accepted, asks for everything. @returns whether it was accepted */
async function hold(stored: Buffer, what: string): Promise<boolean> {
  const bad = writeFiles(join(folder, "bad"), new Map([[PREPARED, stored]]));
  const defects: unknown[] = [];
  const orrery = await openOrrery({
    snapshot: bad,
    keys: [{ id: "key", kind: "cli", token: TOKEN }],
    threads: false,
    watch: 0,
    searchCacheBytes: 0,
    docs: false,
    observe: (seen) => void (seen.kind === "defect" && defects.push(seen.error)),
  }).catch((error: unknown) => error);
  if (orrery instanceof SnapshotError) {
    assert.equal(orrery.problems.length, 1, what);
    assert.match(orrery.problems[0]!, /^generation\.orrery: [^\n]+$/, what);
    return false;
  }
  assert.ok(!(orrery instanceof Error), `${what}: ${orrery}`);
  const { ask, close } = orrery as Awaited<ReturnType<typeof openOrrery>>;
  for (const target of TARGETS) {
    const { status, body } = await ask({ target, authorization: `Bearer ${TOKEN}` });
    assert.ok(status === 200 || status === 404, `${what}: ${target}: ${status} ${defects.map(String)}`);
    assert.doesNotThrow(() => JSON.parse(body), `${what}: ${target}: ${body.slice(0, 200)}`);
  }
  close();
  return true;
}

const ITEM_BYTES: Readonly<Record<string, number>> = {
  Buffer: 1,
  Uint16Array: 2,
  Uint32Array: 4,
  Float64Array: 8,
};

function contents(seed: number): Readonly<Record<string, (bytes: Buffer, itemBytes: number) => void>> {
  const { below } = createRandom(seed, "contents");
  return {
    zeros: (bytes) => void bytes.fill(0),
    "the largest": (bytes) => void bytes.fill(0xff),
    random(bytes) {
      for (let at = 0; at < bytes.length; at++) bytes[at] = below(256);
    },
    "small numbers"(bytes, itemBytes) {
      bytes.fill(0);
      for (let at = 0; at < bytes.length; at += itemBytes) bytes[at] = below(40);
    },
    shuffled(bytes, itemBytes) {
      for (let at = bytes.length / itemBytes - 1; at > 0; at--) {
        const other = below(at + 1) * itemBytes;
        const item = Buffer.from(bytes.subarray(at * itemBytes, (at + 1) * itemBytes));
        bytes.copy(bytes, at * itemBytes, other, other + itemBytes);
        item.copy(bytes, other);
      }
    },
  };
}

test("the file itself is taken", async () => assert.ok(await hold(parts.file, "good")));

test("of any array with other contents", async () => {
  const taken = new Set<string>();
  for (let seed = 0; seed < part(1); seed++) {
    for (const [kind, change] of Object.entries(contents(seed))) {
      for (const [path, type, , bytes] of parts.head.arrays) {
        if (bytes === 0) continue;
        const forged = forgeArray(parts, path, (items) => change(items, ITEM_BYTES[type]!));
        if (await hold(forged, `${path}, ${kind}`)) taken.add(path);
      }
    }
  }
  // Bytes that replies are made of, and their offsets, are never accepted when wrong.
  assert.deepEqual(
    [...taken].filter((path) => /^store\.\w+\.(bytes|starts)$/.test(path)),
    [],
  );
});

/** The file with another value of a number or text. */
function withValue(path: string, value: unknown): Buffer {
  return forge(parts, { ...parts.head, values: { ...parts.head.values, [path]: value } });
}

test("of any number or text with another value", async () => {
  for (const [path, value] of Object.entries(parts.head.values)) {
    const others =
      typeof value === "number" ? [0, 1, value + 1, value - 1, 2 ** 32] : ["", "x", "{}", '{"totalUsers":1}'];
    for (const other of others) await hold(withValue(path, other), `${path}: ${other}`);
  }
});

test("says which part it is that cannot be sent", async () => {
  const isRefused = async (forged: Buffer, says: string): Promise<void> =>
    assert.equal(await refusalOf(join(folder, "bad"), forged), `generation.orrery: damaged: ${says}`);
  for (const table of ["users", "worlds", "worldStats", "instances"]) {
    const path = `store.${table}.bytes`;
    // Changes one row, in its middle.
    const forged = forgeArray(parts, path, (bytes) => void bytes.fill(0, 20, 30));
    await isRefused(forged, `${path} holds bytes that are not rows`);
  }
  await isRefused(
    withValue("store.foundWorldTail", 145),
    "store.foundWorldTail does not match the other sections",
  );
  const counts = '{"totalUsers":1,"totalPublicWorlds":1,"totalPublicInstances":1}';
  await isRefused(
    withValue("store.platformStats", counts),
    "store.platformStats does not match the number of rows",
  );
});

const ENCODER_OF = {
  users: ENCODERS.user,
  worlds: ENCODERS.world,
  worldStats: ENCODERS.worldStats,
  instances: ENCODERS.instance,
} as const;
const CHANGED = Buffer.from('\0\x1f"\\},\x80\xc3{7', "latin1");
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A row after a change: exactly as encoded, at least JSON with the right fields, or neither. */
function judge(block: Block, row: number, encode: (row: object) => string): "encoded" | "JSON" | "neither" {
  const stored = block.bytes.subarray(block.starts[row]!, block.starts[row + 1]!);
  try {
    const object = rowObject<Record<string, unknown>>(block, row);
    for (const [name, value] of Object.entries(object)) {
      if (/id$/i.test(name)) assert.match(String(value), ID);
      if (name.endsWith("At")) assert.match(String(value), TIME);
    }
    const encoded = encode(object);
    if (stored.equals(Buffer.from(`${encoded},`))) return "encoded";
    // The only difference is one needless escape, and the UTF-8 is valid.
    assert.equal(stored.toString().replaceAll(/\\u[0-9a-f]{4}/g, "?").length, stored.toString().length - 5);
    assert.deepEqual(Buffer.from(stored.toString()), Buffer.from(stored));
    return "JSON";
  } catch {
    return "neither";
  }
}

test("of any one byte of a row", async () => {
  const { store } = mustLoad(await loadSnapshot(join(folder, "good")));
  const counts = { taken: 0, refused: 0, held: 0 };
  for (const [name, encode] of Object.entries(ENCODER_OF)) {
    const table = name as keyof typeof ENCODER_OF;
    const block: Block = store[table];
    const escaped = block.starts.findIndex((start) => start > block.bytes.indexOf("\\u")) - 1;
    for (const row of new Set([2, Math.max(0, escaped)])) {
      const from = block.starts[row]!;
      const to = block.starts[row + 1]!;
      for (let at = from; at < to; at++) {
        const own = block.bytes[at]!;
        for (const byte of CHANGED) {
          block.bytes[at] = byte;
          const misfit = await misfitRows(store, () => {});
          const what = `${table} ${row}: ${block.bytes.toString("latin1", from, to)}`;
          const judged = judge(block, row, encode);
          if (misfit === undefined) assert.notEqual(judged, "neither", what);
          else assert.deepEqual([misfit, judged === "encoded"], [`store.${table}.bytes`, false], what);
          const isTaken = misfit === undefined;
          // Few changes go through a file: that takes a thousand times as long.
          if (isTaken ? counts.taken++ % 800 === 0 : counts.refused++ % 4000 === 0) {
            const forged = forgeArray(
              parts,
              `store.${table}.bytes`,
              (bytes) => void bytes.writeUInt8(byte, at),
            );
            assert.equal(await hold(forged, what), isTaken, what);
            counts.held++;
          }
        }
        block.bytes[at] = own;
      }
    }
  }
  const { taken, refused, held } = counts;
  assert.ok(taken > 1000 && refused > 8000 && held > 3, JSON.stringify(counts));
});
