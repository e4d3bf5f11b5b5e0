/** Snapshots by URL on the command line. */

import { defaultCache, isAddress, problemWithAddress } from "../source/address.ts";
import { SourceError } from "../source/problem.ts";
import type { Source } from "../source/url.ts";
import type { World } from "./command.ts";
import { CommandError, type Options, UsageError } from "./options.ts";
import { startProgress } from "./progress.ts";

/** What the settings say of a snapshot by URL. */
export interface SourceSettings {
  /** Given where the snapshot is a URL. */
  readonly cache: string | undefined;
  readonly snapshotTokenFile: string | undefined;
  /** What gave that, for messages. */
  readonly snapshotTokenName: string;
}

/**
 * Reads them.
 *
 * @param name of what gave the snapshot, for messages
 * @throws {UsageError} when the snapshot is a URL that will not do
 */
export function readSourceSettings(
  options: Options<"serve" | "check">,
  { environment }: World,
  name: string,
  snapshot: string,
): SourceSettings {
  const { values, names } = options;
  const token = {
    snapshotTokenFile: values.snapshotTokenFile,
    snapshotTokenName: names.snapshotTokenFile,
  };
  if (!isAddress(snapshot)) return { cache: undefined, ...token };
  const problem = problemWithAddress(snapshot);
  if (problem !== undefined) throw new UsageError(`${name}: ${problem}`);
  const cache = values.cache ?? defaultCache(environment.XDG_CACHE_HOME);
  if (cache === undefined) throw new UsageError("--cache is required: there is no home folder for copies");
  return { cache, ...token };
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
  options: Options<"serve" | "check">,
  world: World,
  snapshot: string,
): Promise<Fetched> {
  const settings = readSourceSettings(options, world, "URL", snapshot);
  if (!isAddress(snapshot)) return { folder: snapshot, repair: async () => undefined };
  const { createUrlSource } = await import("../source/url.ts");
  const bar = startProgress(world, `downloading ${snapshot}`, "checking");
  let problem: string | undefined;
  const source: Source = createUrlSource({
    address: snapshot,
    cache: settings.cache!,
    tokenFile: settings.snapshotTokenFile,
    tokenName: settings.snapshotTokenName,
    maxBytes: options.values.maxSnapshotBytes,
    onProgress: bar.show,
    observe(observation) {
      if (observation.kind === "source-failed") problem = observation.problem;
    },
  });
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
