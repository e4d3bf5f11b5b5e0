/** The package's own files, embedded in the executable; the build replaces `package.ts` with this file. */

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { getAsset } from "node:sea";
import type * as Package from "./package.ts";

/** The asset that lists the files that `tools/build-binary.ts` embeds under `sample/`, one name a line. */
const SAMPLE_FILES = "sample-files";

export const packageJson: typeof Package.packageJson = () => getAsset("package.json", "utf8");

export const sampleFolder: typeof Package.sampleFolder = (spare) => {
  const folder = join(spare, "sample");
  mkdirSync(folder);
  for (const name of getAsset(SAMPLE_FILES, "utf8").split("\n")) {
    writeFileSync(join(folder, name), new Uint8Array(getAsset(`sample/${name}`)));
  }
  return folder;
};

export const pagesText: typeof Package.pagesText = (name) => getAsset(`pages-${name}.json`, "utf8");

export const workerEntry: typeof Package.workerEntry = (thread) => getAsset(basename(thread), "utf8");

export const missingFromBundle: typeof Package.missingFromBundle = () => undefined;
