/** `orrery rollback`: what was published before is published again. */

import { findEarlier } from "../files/earlier.ts";
import { OccupiedError } from "../files/publish.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import { systemErrorText } from "../util/system-error.ts";
import { PUBLISHED_FILES } from "./build.ts";
import type { CommandIo } from "./command.ts";
import { CommandError, type Options, ProblemsError } from "./options.ts";
import { refuseAddress } from "./source.ts";

/** How many earlier versions there are, in words. */
function countText(count: number): string {
  return `${count || "no"} earlier version${count > 1 ? "s" : ""}`;
}

/** Runs the command. */
export async function rollback(options: Options<"rollback">, io: CommandIo): Promise<void> {
  const dir = options.positionals[0]!;
  refuseAddress("DIR", dir);
  const { to, maxSnapshotBytes: maxBytes } = options.values;
  const cannot = (error: unknown): never => {
    const why = error instanceof OccupiedError ? error.message : systemErrorText(error);
    throw why === undefined ? error : new CommandError(`${dir}: ${why}`);
  };
  const found = await findEarlier(dir, to, PUBLISHED_FILES).catch(cannot);
  if (typeof found === "number") {
    const there = found > 1 ? "there are only" : found === 1 ? "there is only" : "there is";
    throw new CommandError(`${dir}: ${there} ${countText(found)} to publish again`);
  }
  // What cannot be served is not published.
  const loaded = await loadSnapshot(found.folder, { maxBytes });
  if (!loaded.ok) throw new ProblemsError(loaded.problems);
  await found.publish().catch(cannot);
  const { store, createdAt } = loaded;
  const of = createdAt === undefined ? "" : `, data of ${createdAt}`;
  io.complain(
    `orrery: published again generation ${store.id}${of}: ${found.folder}; ${countText(found.older)} left\n`,
  );
}
