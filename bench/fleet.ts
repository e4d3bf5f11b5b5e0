/**
 * Fleets that are larger than a machine, in simulated time: 100 to 10,000
 * replicas that share limits, and that follow one snapshot.
 *
 *     npx tsx bench/fleet.ts [--smoke] [--replicas 100,1000,10000] [--requests 2000000] [--json FILE]
 *
 * Limits: each replica runs the real leases, the counter server the real grants;
 * clocks are made up, and answers come at once. Every fifth key asks for a fifth
 * more than its limit in a window, the others for a fifth less, evenly. "Hashed"
 * sends a key to one replica, as the balancers of deploy/ do; "spread" sends each
 * request to any. For one size the policy is compared with others: one permit
 * for each request, a half of what is left divided by the replicas, and a
 * thousand at a time.
 *
 * Freshness: from the moment when a snapshot is published to that when a replica
 * serves it. Each looks every 10 s, all download at most 1 Gbit/s each from one
 * host, and then load it. Sizes and loads are those that bench/export.ts,
 * bench/prepared.ts and bench/scale.ts measured for a million users.
 */

import { createCounters } from "../src/auth/limit.ts";
import { makeAsk, takeAnswer } from "../src/shared-limits/answers.ts";
import { createKeyState, grant, type LeasePolicy } from "../src/shared-limits/grant.ts";
import { createLeases, takePermit } from "../src/shared-limits/leases.ts";
import { percentile } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, markdown, saveJson, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    replicas: { type: "string" },
    requests: { type: "string" },
    json: { type: "string" },
  },
});
const SIZES = (values.replicas ?? (values.smoke ? "20,50" : "100,1000,10000")).split(",").map(Number);
const REQUESTS = Number(values.requests ?? (values.smoke ? 20_000 : 2_000_000));
const LIMITS = values.smoke ? [100, 1000] : [1000, 100_000];
/** Length of a window. */
const SECONDS = 3600;
/** Begins a window. */
const EPOCH = Date.parse("2026-01-01T00:00:00Z");

/** Numbers from 0 to 1, the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A window of a fleet whose keys have all one limit. @param policy that of the script when absent */
function runWindow(replicas: number, isHashed: boolean, limit: number, policy?: LeasePolicy) {
  const keys = Math.max(5, Math.round(REQUESTS / limit));
  const demands = Array.from({ length: keys }, (_, key) => Math.round(limit * (key % 5 === 0 ? 1.2 : 0.8)));
  const requests = demands.reduce((sum, demand) => sum + demand, 0);
  const cells = new BigUint64Array(new SharedArrayBuffer(replicas * keys * 8));
  // One slot for each key at each replica: leases are arrays, and 10,000 sets of them would be many mappings.
  const leases = createLeases({ ...createCounters(SECONDS), cells }, replicas, false);
  const states = demands.map(() => createKeyState());
  const passed = new Float64Array(keys);
  const random = createRandom(1);
  let asks = 0;

  function ask(slot: number, want: number, at: number): void {
    asks++;
    const key = slot % keys;
    const name = String((slot - key) / keys);
    const answer = grant(states[key]!, name, makeAsk(leases, slot, limit, want), SECONDS, EPOCH + at, policy);
    takeAnswer(leases, slot, limit, answer, at, at, EPOCH + at);
  }

  function request(key: number, at: number): void {
    const replica = isHashed ? (key * 7919) % replicas : Math.floor(random() * replicas);
    const slot = replica * keys + key;
    let isAhead = false;
    const ahead = (): void => {
      isAhead = true;
    };
    let quota = takePermit(leases, slot, limit, at, EPOCH + at, false, ahead);
    if (quota === undefined) {
      ask(slot, 1, at);
      quota = takePermit(leases, slot, limit, at, EPOCH + at, true, ahead);
    }
    if (quota?.passed === true) passed[key]!++;
    if (isAhead) ask(slot, 0, at);
  }

  // Keys do not meet at the server: one after another is the same as all at once.
  demands.forEach((demand, key) => {
    for (let count = 0; count < demand; count++) request(key, Math.floor((count * SECONDS * 1000) / demand));
  });
  for (const count of passed)
    if (count > limit) throw new Error(`${count} requests passed a limit of ${limit}`);
  return {
    replicas,
    policy: isHashed ? "hashed" : "spread",
    limit,
    requests,
    asks,
    leastOfLimit: Math.min(...passed.filter((_, key) => key % 5 === 0)) / limit,
    leastOfDemand: Math.min(...passed.map((count, key) => (key % 5 === 0 ? 1 : count / demands[key]!))),
    counts: states.reduce((sum, { totals }) => sum + totals.size, 0) / keys,
  };
}

/** A source of snapshots. */
interface Source {
  readonly name: string;
  /** What a replica downloads, and what its host sends in a second, in bytes. */
  readonly bytes: number;
  readonly bandwidth: number;
  /** Seconds that the replica takes to load it. */
  readonly load: number;
}

const GIGABIT = 1e9 / 8;
const SOURCES: readonly Source[] = [
  { name: "rows, all changed, a host of 10 Gbit/s", bytes: 420e6, bandwidth: 10 * GIGABIT, load: 33 },
  { name: "prepared, a host of 10 Gbit/s", bytes: 1.1e9, bandwidth: 10 * GIGABIT, load: 1.5 },
  { name: "instances alone, a host of 10 Gbit/s", bytes: 11e6, bandwidth: 10 * GIGABIT, load: 0.4 },
  { name: "prepared, a network of caches", bytes: 1.1e9, bandwidth: Infinity, load: 1.5 },
];

/** Seconds until each replica serves what was published. */
function freshness(replicas: number, { bytes, bandwidth, load }: Source): Float64Array {
  const STEP = 0.05;
  const random = createRandom(2);
  const begins = Array.from({ length: replicas }, () => random() * 10);
  const left = new Float64Array(replicas).fill(bytes);
  const served = new Float64Array(replicas);
  for (let at = 0, open = replicas; open > 0; at += STEP) {
    const active = begins.reduce((sum, begin, one) => sum + (begin <= at && left[one]! > 0 ? 1 : 0), 0);
    const share = Math.min(GIGABIT, bandwidth / Math.max(1, active)) * STEP;
    for (let one = 0; one < replicas; one++) {
      if (begins[one]! > at || left[one]! <= 0) continue;
      left[one]! -= share;
      if (left[one]! > 0) continue;
      served[one] = at + STEP + load;
      open--;
    }
  }
  return served.sort();
}

const windows = SIZES.flatMap((size) =>
  LIMITS.flatMap((limit) => [true, false].map((isHashed) => runWindow(size, isHashed, limit))),
);
console.log("Shared limits in simulated time, over one window.\n");
console.log(
  markdown(
    [
      "replicas",
      "limit",
      "keys are",
      "requests that ask",
      "of their limit get those that want more",
      "of what they want get the others",
      "counts kept a key",
    ],
    windows.map((row) => [
      whole(row.replicas),
      whole(row.limit),
      row.policy,
      `${fixed((row.asks / row.requests) * 100, 2)} %`,
      fixed(row.leastOfLimit, 3),
      fixed(row.leastOfDemand, 3),
      fixed(row.counts, 1),
    ]),
    3,
  ),
);
const COMPARED_SIZE = SIZES.at(-2)!;
const COMPARED_LIMIT = LIMITS.at(-1)!;
const POLICIES: readonly (readonly [string, LeasePolicy | undefined])[] = [
  ["as much as was used, at most a twelfth, divided", undefined],
  ["one for each request", () => 0],
  [`half of the rest, divided by ${whole(COMPARED_SIZE)}`, (rest) => Math.floor(rest / (2 * COMPARED_SIZE))],
  [`${COMPARED_LIMIT / 100} at a time`, () => COMPARED_LIMIT / 100],
];
const policies = POLICIES.flatMap(([name, policy]) =>
  [true, false].map((isHashed) => ({ name, ...runWindow(COMPARED_SIZE, isHashed, COMPARED_LIMIT, policy) })),
);
console.log(
  `\nThe same by policy of leases, ${whole(COMPARED_SIZE)} replicas, a limit of ${whole(COMPARED_LIMIT)}.\n`,
);
console.log(
  markdown(
    [
      "a replica leases ahead",
      "keys are",
      "requests that ask",
      "of their limit get those that want more",
      "of what they want get the others",
    ],
    policies.map((row) => [
      row.name,
      row.policy,
      `${fixed((row.asks / row.requests) * 100, 2)} %`,
      fixed(row.leastOfLimit, 3),
      fixed(row.leastOfDemand, 3),
    ]),
    2,
  ),
);
const fresh = SIZES.flatMap((replicas) =>
  SOURCES.map((source) => {
    const seconds = freshness(replicas, source);
    return { replicas, source: source.name, p50: percentile(seconds, 0.5), slowest: seconds.at(-1)! };
  }),
);
console.log("\nSeconds from a publication until a replica serves it, in simulated time.\n");
console.log(
  markdown(
    ["replicas", "source", "half of them", "the last"],
    fresh.map(({ replicas, source, p50, slowest }) => [
      whole(replicas),
      source,
      fixed(p50, 1),
      fixed(slowest, 1),
    ]),
    2,
  ),
);
saveJson(values.json, { windows, policies, fresh });
