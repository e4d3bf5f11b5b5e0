/** The files that make up a set of pages, as the build keeps them: one JSON file a set. */

import { createHash } from "node:crypto";

/** Stands in a file for the limit of an API key on the server that sends it. */
export const LIMIT = "{{limit}}";

/** The hash of a file's contents, as its name and its tag hold it. */
export function hashOf(contents: string | Uint8Array): string {
  return createHash("sha256").update(contents).digest("base64url").slice(0, 16);
}

/** The sets of pages that there are: each is made of a folder beside this file. */
export type PagesName = "dashboard" | "reference";

/** One file of a set. */
export interface StoredFile {
  /** Path of a request for it. */
  readonly path: string;
  /** Value of `Content-Type`. */
  readonly type: string;
  /** Of its contents: URL-safe Base64. */
  readonly hash: string;
  /** Whether its path holds the hash, so that what it names never changes. */
  readonly isHashed: boolean;
  /** Of a page that holds its script and its style: what its policy has to allow, such as `'sha256-…'`. */
  readonly allows?: { readonly script: string; readonly style: string };
  /** Its contents, gzipped, as Base64. */
  readonly gzip: string;
}
