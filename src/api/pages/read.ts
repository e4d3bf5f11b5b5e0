/** Reads a set of pages: the build has made it; without a build, the first request makes it from sources. */

import { pagesText } from "../../install/package.ts";
import type { PageFile, PagesSource } from "./file.ts";

/** Set by the build, which drops the other branch. */
declare const IS_BUILT: boolean | undefined;

/** Reads all files of a set. Rejects when the build's file cannot be read. @returns the files, in no order */
export async function readPages(source: PagesSource): Promise<readonly PageFile[]> {
  if (typeof IS_BUILT === "undefined") return await (await import("./make.ts")).makePages(source);
  return JSON.parse(pagesText(source.name)) as PageFile[];
}
