/** Opening what a snapshot by URL is kept current by. */

import type { Observe } from "../../observe/events.ts";
import type { Settings } from "../../settings/settings.ts";
import { isAddress } from "../../sources/address.ts";
import type { Source } from "../../sources/url/url.ts";

/** Where a snapshot is, and how it is downloaded when that is a URL. */
export interface SourceOptions {
  readonly settings: Pick<Settings, "snapshot" | "cache" | "snapshotTokenFile" | "maxSnapshotBytes">;
  /** What named the token file, for messages. */
  readonly snapshotTokenName?: string | undefined;
  /** Told what share was downloaded, from 0 to 1. */
  readonly onDownload?: (share: number) => void;
  readonly observe: Observe;
}

/**
 * Opens the source of a snapshot; undefined when that is a folder.
 *
 * @throws {TypeError} when there is a URL but no folder for copies
 */
export async function openSource(options: SourceOptions): Promise<Source | undefined> {
  const { settings, observe } = options;
  const { snapshot: address, cache } = settings;
  if (!isAddress(address)) return undefined;
  if (cache === undefined) throw new TypeError("cache: is required where there is no home folder for copies");
  const { createUrlSource } = await import("../../sources/url/url.ts");
  return createUrlSource({
    address,
    cache,
    tokenFile: settings.snapshotTokenFile,
    tokenName: options.snapshotTokenName,
    maxBytes: settings.maxSnapshotBytes,
    onProgress: options.onDownload,
    observe,
  });
}
