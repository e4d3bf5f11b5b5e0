/** The files of a set of pages, as the build keeps them: one JSON file a set. */

import { createHash } from "node:crypto";

/** Placeholder in a file for the limit of an API key on the server that sends it. */
export const LIMIT = "{{limit}}";

const UNITS: readonly (readonly [seconds: number, one: string, many: string])[] = [
  [604_800, "a week", "weeks"],
  [86_400, "a day", "days"],
  [3600, "an hour", "hours"],
  [60, "a minute", "minutes"],
  [1, "a second", "seconds"],
];

/** A limit of requests and its window in seconds: "1,000 an hour", "50 in 90 seconds". */
export function limitText(limit: number, windowSeconds: number): string {
  const [seconds, one, many] = UNITS.find(([unit]) => windowSeconds % unit === 0)!;
  const count = windowSeconds / seconds;
  return `${limit.toLocaleString("en-US")} ${count === 1 ? one : `in ${count} ${many}`}`;
}

/** The hash of a file's contents, for its name and its tag. */
export function pageHash(contents: string | Uint8Array): string {
  return createHash("sha256").update(contents).digest("base64url").slice(0, 16);
}

/** The sources of a set of pages: `index.html`, `page.ts` and `page.css` in its folder, and files of packages. */
export interface PagesSource {
  /** Unique among all sets. */
  readonly name: string;
  /** The folder, relative to the folder of all sources; ends with a slash. */
  readonly folder: string;
  /** Path of the page, in whose HTML `"NAME"` of a file that it loads stands for the path to it. */
  readonly path: string;
  /**
   * Folder of the files that the page loads, relative to the page's path; ends with a slash. When absent, the page has its
   * script and its style in itself, so that one reply has all.
   */
  readonly under?: string;
  /** Packages with code in the bundles. */
  readonly packages?: readonly string[];
  /** Files of packages, copied unchanged: name and module. */
  readonly copied?: Readonly<Record<string, string>>;
  /** JSON documents, by path. */
  readonly documents?: Readonly<Record<string, () => Promise<unknown>>>;
}

export interface PageFile {
  readonly path: string;
  /** Value of `Content-Type`. */
  readonly type: string;
  /** Hash of its contents, in URL-safe Base64. */
  readonly hash: string;
  /** Whether its path contains the hash, so that its contents never change. */
  readonly isHashed: boolean;
  /** For a page with inline script and style: the directives of its policy that allow them by their hashes. */
  readonly allows?: string;
  /** Its contents, gzipped, as Base64. */
  readonly gzip: string;
}
