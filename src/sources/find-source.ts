/** Finding what opens a snapshot by URL. */

import type { OpenSource, SourceQuestion } from "../server/load/source.ts";
import { SettingError } from "../settings/setting-error.ts";
import { defaultCache, problemWithAddress } from "./address.ts";

/** Checks its settings. @throws {SettingError} */
export async function findUrlSource(question: SourceQuestion): Promise<OpenSource> {
  const { snapshot: address, settings, nameOf, cacheHome } = question;
  const problem = problemWithAddress(address);
  if (problem !== undefined) throw new SettingError("snapshot", `: ${problem}`, true);
  const cache = settings.cache ?? defaultCache(cacheHome());
  if (cache === undefined)
    throw new SettingError("cache", " is required: there is no home folder for copies", true);
  const { snapshotTokenFile: tokenFile, maxSnapshotBytes: maxBytes } = settings;
  const tokenName = nameOf("snapshotTokenFile");
  // Imported when it is needed.
  const { UrlSource } = await import("./url/url.ts");
  return ({ observe, onDownload }) =>
    new UrlSource({ address, cache, tokenFile, tokenName, maxBytes, onProgress: onDownload, observe });
}
