/** Rounds of random changes: after each a reload is compared with a start of its own. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type Observation, type Orrery, openOrrery, SnapshotError } from "../../src/mod.ts";
import { ROW_FILES } from "../../src/model/model.ts";
import { indexesOf, indexStore } from "../../src/search/search.ts";
import type { Serving } from "../../src/server/load/loader.ts";
import { type Loaded, loadSnapshot, type Refused } from "../../src/snapshot/load.ts";
import { ChangingSnapshot } from "./changing.ts";
import { id } from "./folders.ts";

const BASE = "/api/public/v1";
const TOKEN = "svcx_changing";

/** What the rounds have seen, so that a caller can tell that they tried something. */
export interface Seen {
  refused: number;
  unchanged: number;
  /** How often rows of each table were kept, and how often they were read. */
  readonly kept: Map<string, number>;
  readonly read: Map<string, number>;
  /** How often an index was used again though the snapshot was another. */
  users: number;
  worlds: number;
  /** How often worlds that were kept were indexed in another order. */
  ranked: number;
}

function count(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

function open(snapshot: string, threads: boolean, observe: (seen: Observation) => void): Promise<Orrery> {
  const keys = [{ id: "me", kind: "cli", token: TOKEN }] as const;
  return openOrrery({ snapshot, keys, threads, watch: 0, observe });
}

/** Everything that may be asked about ids that are, were, or might be there. */
function targetsOf(queries: readonly string[]): string[] {
  const targets = ["/stats", "/worlds?limit=50", "/instances?limit=50", "/worlds?limit=3&offset=4"];
  for (const period of ["all", "week", "month"]) targets.push(`/worlds/popular?period=${period}&limit=50`);
  for (const query of queries) {
    const q = encodeURIComponent(query);
    targets.push(`/users/search?q=${q}&limit=50`, `/worlds/search?q=${q}&limit=50`);
    targets.push(`/worlds/search?q=${q}&limit=2&offset=1`);
  }
  for (let n = 0; n < 24; n++) {
    targets.push(`/users/${id("a", n)}`, `/users/${id("a", n)}/worlds?limit=50`, `/worlds/${id("b", n)}`);
    targets.push(`/worlds/${id("b", n)}/stats`, `/worlds/${id("b", n)}/instances?limit=50`);
    targets.push(`/instances/${id("c", n)}`, `/instances?worldId=${id("b", n)}&limit=50`);
  }
  return targets.map((target) => BASE + target);
}

async function answersOf({ ask }: Orrery, targets: readonly string[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const target of targets) {
    const { status, headers, body } = await ask({ target, authorization: `Bearer ${TOKEN}` });
    answers.push({ target, status, etag: headers.etag, body: body.toString() });
  }
  return answers;
}

/** What of a load must not depend on how it was done. */
function resultOf({ store, reports, kept, bytes, fingerprint }: Loaded, index: unknown): unknown {
  return {
    store,
    reports: reports.map((report) => ({ ...report, isKept: false })),
    kept,
    bytes,
    fingerprint,
    index,
  };
}

/**
 * Changes a snapshot again and again, and reloads it.
 *
 * @param threads whether loads are done in threads
 */
export async function changeAndCompare(
  folder: string,
  seed: number,
  rounds: number,
  threads: boolean,
): Promise<Seen> {
  const snapshot = new ChangingSnapshot(join(folder, String(seed)), seed);
  const where = snapshot.folder;
  const seen: Seen = {
    refused: 0,
    unchanged: 0,
    kept: new Map(),
    read: new Map(),
    users: 0,
    worlds: 0,
    ranked: 0,
  };
  let last: Observation | undefined;
  const orrery = await open(where, threads, (observation) => {
    if (observation.kind.startsWith("snapshot-")) last = observation;
  });
  let before: Serving | undefined;

  /** The load by itself: every array of it is compared. */
  async function compareLoads(): Promise<Loaded | Refused> {
    const whole = await loadSnapshot(where);
    const partly = await loadSnapshot(where, before ? { before } : {});
    if (!whole.ok || !partly.ok) {
      assert.deepEqual(partly, whole);
      return whole;
    }
    const known = indexesOf(partly.store, before);
    const index = indexStore(partly.store, before);
    assert.deepEqual(resultOf(partly, index), resultOf(whole, indexStore(whole.store)));
    if (before && partly.store.contents !== before.store.contents) {
      if (known.users) seen.users++;
      if (known.worlds) seen.worlds++;
      else if (partly.store.worlds === before.store.worlds) seen.ranked++;
      for (const { table, isKept } of partly.reports) count(isKept ? seen.kept : seen.read, table);
    }
    before = { store: partly.store, kept: partly.kept, index };
    return whole;
  }

  await compareLoads();
  for (let round = 0; round < rounds; round++) {
    const done = snapshot.change();
    try {
      const loaded = await compareLoads();
      await orrery.reload();
      if (!loaded.ok) {
        seen.refused++;
        assert.ok(last?.kind === "snapshot-refused");
        assert.deepEqual(last.problems, loaded.problems);
        await assert.rejects(
          open(where, false, () => {}),
          SnapshotError,
        );
        continue;
      }
      if (last?.kind === "snapshot-unchanged") seen.unchanged++;
      const fresh = await open(where, false, () => {});
      const targets = targetsOf(snapshot.queries());
      assert.equal(orrery.generation(), fresh.generation());
      assert.deepEqual(await answersOf(orrery, targets), await answersOf(fresh, targets));
      fresh.close();
    } catch (error) {
      (error as Error).message =
        `seed ${seed}, round ${round}, ${done.join(", ")}: ${(error as Error).message}`;
      throw error;
    }
  }
  orrery.close();
  return seen;
}

/** The rounds must have tried each kind of outcome so often. */
export function assertTried(
  { refused, unchanged, kept, read, users, worlds, ranked }: Seen,
  least: number,
): void {
  const counts = { refused, unchanged, users, worlds, ranked };
  const all: [string, number][] = Object.entries(counts);
  for (const table of ROW_FILES) {
    all.push([`${table} kept`, kept.get(table) ?? 0], [`${table} read`, read.get(table) ?? 0]);
  }
  for (const [what, times] of all) assert.ok(times >= least, `${what}: ${times} times`);
}
