import { type DirectReply, type OpenOptions, type Orrery, openOrrery } from "../../src/mod.ts";
import { BASE_PATH } from "../../src/model/model.ts";
import { place } from "./place.ts";

type Test = { after(done: () => void): void };

/** Opens the sample without keys and threads, or as `more` says; closes it after the test. */
export async function openSample(test: Test, more: Partial<OpenOptions> = {}): Promise<Orrery> {
  const orrery = await openOrrery({ snapshot: "data/sample", keys: [], threads: false, watch: 0, ...more });
  test.after(orrery.close);
  return orrery;
}

/** Opens the snapshot and the keys file of a new place, likewise. */
export function openPlace(test: Test, more: Partial<OpenOptions> = {}): Promise<Orrery> {
  const { snapshot, keys } = place(test);
  return openSample(test, { snapshot, keys, ...more });
}

/** All items of an iteration. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The replies to requests of these operations under a token, one after the other. */
export async function repliesTo({ ask }: Orrery, targets: readonly string[], token: string) {
  const replies: DirectReply[] = [];
  for (const target of targets) {
    replies.push(await ask({ target: BASE_PATH + target, authorization: `Bearer ${token}` }));
  }
  return replies;
}
