/** Snapshots by URL on the command line. */

import { openSource } from "../server/load/open-source.ts";
import type { Values } from "../settings/settings.ts";
import { defaultCache, isAddress, problemWithAddress } from "../sources/address.ts";
import { SourceError } from "../sources/problem.ts";
import type { World } from "./command.ts";
import { CommandError, type Options, UsageError } from "./options.ts";
import { startProgress } from "./progress.ts";

/**
 * The folder for copies of a snapshot by URL.
 *
 * @param name of what gave the snapshot, for messages
 * @returns undefined where the snapshot is no URL
 * @throws {UsageError} when the URL will not do
 */
export function cacheFor(
  snapshot: string,
  name: string,
  values: Values<"serve" | "check">,
  { environment }: World,
): string | undefined {
  if (!isAddress(snapshot)) return undefined;
  const problem = problemWithAddress(snapshot);
  if (problem !== undefined) throw new UsageError(`${name}: ${problem}`);
  const cache = values.cache ?? defaultCache(environment.XDG_CACHE_HOME);
  if (cache === undefined) throw new UsageError("--cache is required: there is no home folder for copies");
  return cache;
}

/** For commands that compare or convert what lies here. @throws {UsageError} when a snapshot is a URL */
export function refuseAddress(name: string, snapshot: string): void {
  if (isAddress(snapshot)) throw new UsageError(`${name}: is a URL; only serve and check take one`);
}

/** A folder to read, and what else to read when it would not load. */
export interface Fetched {
  readonly folder: string;
  /** @returns the folder to read instead, if this one was damaged */
  readonly repair: () => Promise<string | undefined>;
}

/**
 * Gives the folder of a snapshot; one by URL is downloaded first.
 *
 * @throws {UsageError} when the URL will not do
 * @throws {CommandError} when it cannot be downloaded: an older copy is not what was asked for
 */
export async function fetchSnapshot(
  { values, names, positionals }: Options<"check">,
  world: World,
): Promise<Fetched> {
  const snapshot = positionals[0]!;
  const cache = cacheFor(snapshot, "URL", values, world);
  if (cache === undefined) return { folder: snapshot, repair: async () => undefined };
  const bar = startProgress(world, `downloading ${snapshot}`, "checking");
  let problem: string | undefined;
  const source = (await openSource({
    settings: { ...values, snapshot, cache },
    snapshotTokenName: names.snapshotTokenFile,
    onDownload: bar.show,
    observe(observation) {
      if (observation.kind === "source-failed") problem = observation.problem;
    },
  }))!;
  const { signal } = new AbortController();
  const run = async <Result>(work: Promise<Result>): Promise<Result> => {
    const result = await work
      .catch((error: unknown) => {
        throw error instanceof SourceError ? new CommandError(error.message) : error;
      })
      .finally(bar.end);
    if (problem !== undefined) throw new CommandError(problem);
    return result;
  };
  const folder = await run(source.refresh("start", signal));
  return { folder, repair: () => run(source.repair(folder, signal)) };
}
