/** Snapshots by URL: their addresses, the place for copies, and what opens them. */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { OpenSource, SourceQuestion } from "../server/load/source.ts";
import { SettingError } from "../settings/setting-error.ts";

/**
 * What is wrong with a snapshot's URL, or undefined. The text itself is not quoted, since it may hold a password.
 *
 * @param tokenName the name of the setting that takes a token
 */
export function problemWithAddress(text: string, tokenName: string): string | undefined {
  if (!/^https?:/i.test(text)) return "a URL must begin with http:// or https://";
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "is not a valid URL";
  }
  if (url.username !== "" || url.password !== "") {
    return `a URL must hold no user name or password; ${tokenName} takes a token`;
  }
  if (/[?#]/.test(text)) return "a URL must have neither a query nor a fragment";
  if (!text.endsWith("/")) return "a URL must end with a slash: it stands for a folder";
  return undefined;
}

/** The user's home folder; undefined where there is none, as for a user id that no name belongs to. */
function homeFolder(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}

/** The folder for copies where no other is given, if there can be one. @param xdgCacheHome that variable's value */
export function defaultCache(xdgCacheHome: string | undefined): string | undefined {
  // The specification of the variable: a path that is not absolute is to be ignored.
  if (xdgCacheHome?.startsWith("/")) return join(xdgCacheHome, "orrery");
  const home = homeFolder();
  return home && join(home, ".cache", "orrery");
}

/** Checks its settings. @throws {SettingError} */
export async function findUrlSource(question: SourceQuestion): Promise<OpenSource> {
  const { snapshot: address, settings, nameOf, cacheHome } = question;
  const tokenName = nameOf("snapshotTokenFile");
  const problem = problemWithAddress(address, tokenName);
  if (problem !== undefined) throw new SettingError("snapshot", `: ${problem}`, true);
  const cache = settings.cache ?? defaultCache(cacheHome());
  if (cache === undefined)
    throw new SettingError("cache", " is required: there is no home folder for copies", true);
  const { snapshotTokenFile: tokenFile, maxSnapshotBytes: maxBytes } = settings;
  // Imported when it is needed.
  const { UrlSource } = await import("./url/url.ts");
  return ({ observe, onDownload }) =>
    new UrlSource({ address, cache, tokenFile, tokenName, maxBytes, onProgress: onDownload, observe });
}
