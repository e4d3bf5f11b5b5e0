import { type OpenOptions, type Orrery, openOrrery } from "../../src/mod.ts";
import { place } from "./place.ts";

/** Opens the snapshot and the keys file of a new place; closes them after the test. */
export async function openPlace(
  test: { after(done: () => void): void },
  more: Partial<OpenOptions> = {},
): Promise<Orrery> {
  const { snapshot, keys } = place(test);
  const orrery = await openOrrery({ snapshot, keys, threads: false, watch: 0, ...more });
  test.after(orrery.close);
  return orrery;
}
