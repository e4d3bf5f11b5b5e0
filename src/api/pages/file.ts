/** The files that make up a set of pages, as the build keeps them: one JSON file a set. */

import { createHash } from "node:crypto";

/** Stands in a file for the limit of an API key on the server that sends it. */
export const LIMIT = "{{limit}}";

/** The hash of a file's contents, as its name and its tag hold it. */
export function pageHash(contents: string | Uint8Array): string {
  return createHash("sha256").update(contents).digest("base64url").slice(0, 16);
}

/** What a set is made of. Names are of files in its folder, or of what packages hold. */
export interface PagesSource {
  /** Different from those of all other sets. */
  readonly name: string;
  /** The folder, from that of all sources on; ends with a slash. */
  readonly folder: string;
  /** The page: its path, and its HTML, in which `"NAME"` of a file below stands for the path to it. */
  readonly path: string;
  readonly html: string;
  /** Where the files that it loads are, seen from the page's path; ends with a slash. */
  readonly under: string;
  /** TypeScript and CSS, bundled. */
  readonly bundled: readonly string[];
  /** Whether what is bundled, a script and a style, stands in the page itself: one reply is then all of it. */
  readonly isOneFile?: true;
  /** Packages of which something is in what is bundled. */
  readonly packages?: readonly string[];
  /** Files of packages, taken as they are: name and module. */
  readonly copied: Readonly<Record<string, string>>;
  /** JSON documents, by path. */
  readonly documents: Readonly<Record<string, () => Promise<unknown>>>;
}

export interface PageFile {
  readonly path: string;
  /** Value of `Content-Type`. */
  readonly type: string;
  /** Hash of its contents, in URL-safe Base64. */
  readonly hash: string;
  /** Whether its path holds the hash, so that what it names never changes. */
  readonly isHashed: boolean;
  /** For a page that holds its script and its style: the hashes that its policy allows, such as `'sha256-…'`. */
  readonly allows?: { readonly script: string; readonly style: string };
  /** Its contents, gzipped, as Base64. */
  readonly gzip: string;
}
