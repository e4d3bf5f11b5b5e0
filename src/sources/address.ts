/** Addresses of snapshots, and where the copies of each are kept. */

import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/** What is wrong with a snapshot's URL, or undefined. The text itself is not quoted, since it may hold a password. */
export function problemWithAddress(text: string): string | undefined {
  if (!/^https?:/i.test(text)) return "a URL must begin with http:// or https://";
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "is not a valid URL";
  }
  if (url.username !== "" || url.password !== "") {
    return "a URL must hold no user name or password; --snapshot-token-file takes a token";
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

/** The folder for the copies of one URL. */
export function placeOf(cache: string, address: string): string {
  const hash = createHash("sha256").update(new URL(address).href).digest("hex");
  return join(resolve(cache), hash.slice(0, 16));
}
