/** Snapshots by URL on the command line. */

import { isAddress } from "../files/folders.ts";
import { findSource, type OpenSource } from "../server/load/source.ts";
import type { Values } from "../settings/settings.ts";
import type { CommandIo, Program } from "./command.ts";
import { UsageError } from "./options.ts";

/** For commands that read local snapshots. @throws {UsageError} when a snapshot is a URL */
export function refuseAddress(name: string, snapshot: string): void {
  if (isAddress(snapshot)) throw new UsageError(`${name}: is a URL; only serve takes one`);
}

/** Finds the source of a server's snapshot; undefined for a folder. @throws {SettingError} when the URL cannot be used */
export function sourceOf(
  settings: Values<"serve">,
  names: Readonly<Record<string, string>>,
  { environment, self }: Pick<CommandIo, "environment" | "self">,
  { features }: Program,
): Promise<OpenSource | undefined> {
  return findSource(features.findSource, {
    snapshot: settings.snapshot,
    settings,
    nameOf: (name) => names[name]!,
    command: self,
    cacheHome: () => environment.XDG_CACHE_HOME,
  });
}
