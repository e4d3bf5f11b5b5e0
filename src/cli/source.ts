/** Snapshots by URL on the command line. */

import { tmpdir } from "node:os";
import { isAddress, makeTemporaryFolder } from "../files/folders.ts";
import { observeNothing } from "../observe/events.ts";
import { findSource, type OpenSource } from "../server/load/source.ts";
import type { Values } from "../settings/settings.ts";
import { STOP_SIGNALS } from "../util/process/early-signals.ts";
import type { CommandIo, Program } from "./command.ts";
import { CommandError, failureAt, type Options, UsageError } from "./options.ts";
import { startProgress } from "./terminal.ts";

/** For commands that compare or convert local snapshots. @throws {UsageError} when a snapshot is a URL */
export function refuseAddress(name: string, snapshot: string): void {
  if (isAddress(snapshot)) throw new UsageError(`${name}: is a URL; only serve and check take one`);
}

/** Finds the source of a snapshot; undefined for a folder. @throws {SettingError} when the URL cannot be used */
export function sourceOf(
  snapshot: string,
  settings: Values<"serve" | "check">,
  names: Readonly<Record<string, string>>,
  { environment, self }: Pick<CommandIo, "environment"> & Partial<Pick<CommandIo, "self">>,
  { features }: Program,
): Promise<OpenSource | undefined> {
  return findSource(features.findSource, {
    snapshot,
    settings,
    nameOf: (name) => names[name]!,
    ...(self && { command: self }),
    cacheHome: () => environment.XDG_CACHE_HOME,
  });
}

/** A folder for copies that ends with the process, also by a signal. */
async function temporaryCache(io: CommandIo): Promise<string> {
  for (const signal of STOP_SIGNALS) process.once(signal, () => io.exit(1));
  return await makeTemporaryFolder("check").catch((error: unknown) => {
    throw failureAt(`cannot write to the temporary folder ${tmpdir()} (see --cache)`, error);
  });
}

/**
 * Gives the folder of a snapshot, after downloading one by URL, and a function that resolves to the folder to read instead
 * if this one was damaged. @throws {SourceError} or {@link CommandError} when it cannot be downloaded, even with an older copy
 */
export async function fetchSnapshot(
  { values, names, positionals }: Options<"check">,
  io: CommandIo,
  program: Program,
): Promise<{ readonly folder: string; readonly repair: () => Promise<string | undefined> }> {
  const snapshot = positionals[0]!;
  if (!isAddress(snapshot)) return { folder: snapshot, repair: async () => undefined };
  // The option is one of the feature that brings snapshots from elsewhere.
  const { cache = await temporaryCache(io) } = values as { readonly cache?: string };
  // Without `self`: a check runs no rounds.
  const { environment } = io;
  const settings = Object.assign({}, values, { cache });
  const open = (await sourceOf(snapshot, settings, names, { environment }, program))!;
  const bar = startProgress(io, `downloading ${snapshot}`, "checking");
  const source = open({ onDownload: bar.show, observe: observeNothing });
  const { signal } = new AbortController();
  const run = async <Result>(work: Promise<Result>): Promise<Result> => {
    const result = await work.finally(bar.end);
    const problem = source.problem();
    if (problem !== undefined) throw new CommandError(problem);
    return result;
  };
  const folder = await run(source.refresh("start", signal));
  return { folder, repair: () => run(source.repair(folder, signal)) };
}
