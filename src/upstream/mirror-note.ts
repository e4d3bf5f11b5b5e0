/** What the manifest of a mirrored snapshot says of its origin. */

import { readManifestOf } from "../snapshot/manifest.ts";
import { isObject } from "../util/json.ts";

/** The field of a manifest that says what a mirror holds. */
export interface MirrorNote {
  /** The other server. */
  readonly from: string;
  /** Its generation; null where it named none or changed meanwhile. */
  readonly generation: string | null;
  /** Searches whose users are all here. */
  readonly searches: readonly string[];
  /** How many users the server has, of which only some may be here. */
  readonly totalUsers: number;
}

/** What a mirror wrote into the manifest of what it made. */
export async function readNote(folder: string): Promise<MirrorNote | undefined> {
  const note = (await readManifestOf(folder))?.mirror;
  if (!isObject(note) || !Array.isArray(note.searches) || typeof note.totalUsers !== "number")
    return undefined;
  return note as unknown as MirrorNote;
}
