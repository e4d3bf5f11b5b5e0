/** Asking a source for its manifest. */

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { ROW_FILES } from "../../model/model.ts";
import { MANIFEST, PREPARED } from "../../snapshot/files.ts";
import { type Manifest, parseManifest } from "../../snapshot/manifest.ts";
import { Problems } from "../../snapshot/problems.ts";
import { readWhole, request } from "../../upstream/request.ts";
import { type RetryPolicy, retry } from "../../upstream/retry.ts";
import { SourceError } from "../../util/source-error.ts";

const MOST_BYTES = 1_048_576;

/** A manifest as it was sent. */
export interface SentManifest {
  readonly bytes: Buffer;
  /** Hex hash of its bytes. */
  readonly sha256: string;
  readonly etag: string | undefined;
}

/**
 * Hosts make entity tags of a file's size and the second of its change (nginx). The tag of a file that changed so shortly
 * before it was sent can be that of its next version, too.
 */
const SAME_TAG_MS = 2000;

/** An entity tag that is sent back to learn of changes; anything that does not serve for that is none. */
function etagOf(headers: Headers): string | undefined {
  const etag = headers.get("etag") ?? "";
  if (etag.length > 1024 || !/^(W\/)?"[\x21\x23-\x7e]*"$/.test(etag)) return undefined;
  const age = Date.parse(headers.get("date") ?? "") - Date.parse(headers.get("last-modified") ?? "");
  return age < SAME_TAG_MS ? undefined : etag;
}

/** The name of a manifest's contents. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * Asks for the manifest.
 *
 * @param etag of the one that is here, if there is one
 * @returns undefined when it is still that
 * @throws {SourceError}
 */
export async function askManifest(
  folder: URL,
  token: string | undefined,
  etag: string | undefined,
  policy: RetryPolicy,
): Promise<SentManifest | undefined> {
  const url = new URL(MANIFEST, folder);
  const { timing, signal } = policy;
  const conditions = etag === undefined ? {} : { "if-none-match": etag };
  // Caches on the way are to ask for it, too.
  const headers = { "cache-control": "no-cache", ...conditions };
  const statuses = etag === undefined ? [200] : [200, 304];
  const late = new SourceError(`${url.href}: not here within ${timing.manifestMs / 1000} s`);
  const tooLarge = new SourceError(`${url.href}: is larger than 1 MiB`, { isLasting: true });
  const question = { url, token, headers, late, timing, signal };
  return await retry(policy, () =>
    request(question, statuses, async (answer) => {
      if (answer.status === 304) return undefined;
      const bytes = await readWhole(answer, MOST_BYTES, tooLarge);
      const announced = answer.headers.get("content-length");
      if (
        announced !== null &&
        !answer.headers.has("content-encoding") &&
        Number(announced) !== bytes.length
      ) {
        throw new SourceError(`${url.href}: ended after ${bytes.length} of ${announced} bytes`);
      }
      return { bytes, sha256: sha256Of(bytes), etag: etagOf(answer.headers) };
    }),
  );
}

/** Bytes of all files together. */
export function totalBytes({ files }: Manifest): number {
  return Array.from(files.values()).reduce((total, { bytes }) => total + bytes, 0);
}

/** What is missing in a manifest's list of files, or there twice; undefined when it is a whole snapshot. */
function problemWithFiles({ files }: Manifest): string | undefined {
  if (files.has(PREPARED)) {
    return files.size === 1 ? undefined : `files: beside ${PREPARED} there can be no other`;
  }
  const tables = Array.from(files.keys(), (name) => name.replace(/\.(gz|zst)$/, ""));
  for (const table of ROW_FILES) {
    const forms = tables.filter((name) => name === table).length;
    if (forms !== 1) return `files: ${table} is ${forms === 0 ? "missing" : "listed in several forms"}`;
  }
  return undefined;
}

/**
 * What a manifest says.
 *
 * @param maxBytes most bytes that its files may have together
 * @throws {SourceError} when it is no manifest of a whole snapshot
 */
export function readSent(folder: URL, { bytes }: SentManifest, maxBytes: number): Manifest {
  const problems = new Problems();
  if (!isUtf8(bytes)) problems.file(MANIFEST, "not valid UTF-8");
  const manifest = problems.count === 0 ? parseManifest(bytes.toString("utf8"), problems) : undefined;
  const fail = (problem: string): never => {
    throw new SourceError(folder.href + problem, { isLasting: true });
  };
  if (manifest === undefined) return fail(problems.lines()[0]!);
  const problem = problemWithFiles(manifest);
  if (problem !== undefined) return fail(`${MANIFEST}: ${problem}`);
  const total = totalBytes(manifest);
  if (total > maxBytes) {
    return fail(`${MANIFEST}: files: ${total} bytes together, more than --max-snapshot-bytes allows`);
  }
  return manifest;
}
