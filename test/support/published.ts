/** Published folders: their manifests and links, each changed in one step as publishers do. */

import { readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { replace } from "./place.ts";

export const manifestIn = (folder: string) => JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));

export function changeManifest(folder: string, change: object): void {
  replace(join(folder, "manifest.json"), JSON.stringify({ ...manifestIn(folder), ...change }));
}

/** Makes a link lead to another folder. */
export function turnLink(link: string, target: string): void {
  symlinkSync(target, `${link}.new`);
  renameSync(`${link}.new`, link);
}
