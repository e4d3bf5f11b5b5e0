/** An open replica with similar search, over a small snapshot in a folder of the test file. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type DirectReply, type Observation, type OpenOptions, openOrrery } from "../../src/mod.ts";
import { temporaryFolder } from "./folders.ts";
import { BASE } from "./http-server.ts";
import { until } from "./process.ts";
import { bulkRows, madeId, writeSnapshot } from "./snapshot.ts";

export const NAMES = ["Rabbit", "rabbit_77", "Ribbat", "Zoë Müller", "佐藤 陽葵", "さくらもち", "🐱🐶🐱"];
const WORLD_NAMES = ["Secret Garden", "Garden of Cats", "秘密の庭園"];

export const folder = temporaryFolder();

/** Replaces the snapshot by one with other users. */
export function writeRows(generation: string, names: readonly string[]): void {
  const rows = bulkRows(120);
  const [user, world] = [rows.users[0]!, rows.worlds[0]!];
  for (const [at, displayName] of names.entries()) {
    rows.users.push({ ...user, id: madeId("a0", at), displayName });
  }
  for (const [at, name] of WORLD_NAMES.entries()) {
    const description = "A rabit lives here.";
    rows.worlds.push({ ...world, id: madeId("b0", at), name, description, isPublic: true, status: "ACTIVE" });
  }
  rows.worlds.push({ ...world, id: madeId("b1", 0), name: "Hidden Garden", isPublic: false });
  writeSnapshot(folder, rows, { generation });
}

export type Opened = Awaited<ReturnType<typeof open>>;

export async function open(test: { after(close: () => void): void }, more: Partial<OpenOptions> = {}) {
  const seen: Observation[] = [];
  const orrery = await openOrrery({
    snapshot: folder,
    watch: 0,
    keys: [
      { id: "a", kind: "api", token: "svc_sk_a", limit: 1_000_000 },
      { id: "b", kind: "cli", token: "svcx_b" },
      { id: "worlds", kind: "api", token: "svc_sk_worlds", scopes: ["read:worlds"] },
    ],
    observe: (observation) => seen.push(observation),
    similar: true,
    ...more,
  });
  test.after(() => orrery.close());
  return {
    orrery,
    seen,
    ask: (target: string, rest: object = {}) =>
      orrery.ask({ target: `${BASE}${target}`, authorization: "Bearer svcx_b", ...rest }),
    /** Waits for so many observations of a kind. */
    observed: (kind: Observation["kind"], times = 1) =>
      until(() => seen.filter((one) => one.kind === kind).length >= times, kind),
  };
}

interface Page {
  readonly data: { readonly id: string; readonly displayName?: string; readonly name?: string }[];
  readonly pagination: { readonly total: number };
  readonly match?: string;
}

export function pageOf(reply: DirectReply): Page {
  assert.equal(reply.status, 200, reply.body);
  return JSON.parse(reply.body) as Page;
}

export const namesIn = ({ data }: Page): string[] =>
  data.map(({ displayName, name }) => displayName ?? name!);

/** Asserts that the exact search answers while names are indexed, after a reload, too; a reply is of one generation. */
export async function answersWhileIndexing(t: TestContext, threads: boolean): Promise<void> {
  writeRows("one", NAMES);
  const { ask, observed, orrery } = await open(t, { threads });
  const target = "/users/search?q=rabbit&limit=3";
  const asExact = async (): Promise<void> => {
    const similar = await ask(`${target}&match=similar`);
    const { body } = await ask(target);
    assert.equal(similar.body, body.replace(/\}$/, ',"match":"exact"}'));
    assert.equal(similar.headers["content-length"], String(Buffer.byteLength(similar.body)));
    // The same generation will answer differently later: with an ETag, clients could keep this while it is served.
    assert.equal(similar.headers.etag, undefined);
    assert.equal(similar.headers["cache-control"], "no-store");
  };
  await asExact();
  await observed("similar-ready");
  assert.equal(pageOf(await ask(`${target}&match=similar`)).match, "similar");

  writeRows("two", ["Gopher"]);
  const asked = Array.from({ length: 20 }, () => ask("/users/search?q=gohper&match=similar"));
  const reloaded = orrery.reload();
  await reloaded;
  assert.equal(orrery.generation(), "two");
  await asExact();
  for (const reply of await Promise.all(asked)) {
    assert.equal(reply.headers.etag, '"one"', "asked before the reload");
    assert.ok(!reply.body.includes("Gopher"));
  }
  await observed("similar-ready", 2);
  const later = await ask("/users/search?q=gohper&match=similar");
  assert.equal(later.headers.etag, '"two"');
  assert.deepEqual(namesIn(pageOf(later)), ["Gopher"]);
  writeRows("one", NAMES);
}

export async function closesAnyTime(t: TestContext, threads: boolean): Promise<void> {
  const { orrery, ask, seen } = await open(t, { threads });
  const asked = ask("/users/search?q=rabit&match=similar");
  orrery.close();
  assert.equal(pageOf(await asked).match, "exact");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(
    seen.filter(({ kind }) => kind.startsWith("similar") || kind === "defect"),
    [],
  );
}
