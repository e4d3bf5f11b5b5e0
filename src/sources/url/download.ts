/** Downloads a host's manifest and files. Files are checked while they arrive. */

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { ROW_FILES } from "../../model/model.ts";
import { MANIFEST, PREPARED } from "../../snapshot/files.ts";
import { type Listed, type Manifest, parseManifest } from "../../snapshot/manifest.ts";
import { Problems } from "../../snapshot/problems.ts";
import { MAX_SNAPSHOT_BYTES } from "../../snapshot/read.ts";
import { SourceError } from "../../util/source-error.ts";
import type { Answer, SourceClient } from "./client.ts";

const MOST_MANIFEST_BYTES = 1_048_576;

/** nginx and others build ETags from size and second: a file that changed less than this before may share its ETag with a later one. */
const SAME_TAG_MS = 2000;

/** A manifest, its bytes as received, their hex hash, and the ETag. */
export type SentManifest = NonNullable<Awaited<ReturnType<typeof askManifest>>>;

/** An ETag that can detect changes when sent back; undefined when it cannot. */
function etagOf({ header }: Answer): string | undefined {
  const etag = header("etag") ?? "";
  if (etag.length > 1024 || !/^(W\/)?"[\x21\x23-\x7e]*"$/.test(etag)) return undefined;
  const age = Date.parse(header("date") ?? "") - Date.parse(header("last-modified") ?? "");
  return age < SAME_TAG_MS ? undefined : etag;
}

export function sha256Of(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** @throws {SourceError} for a status other than 200 */
function checkStatus({ href }: URL, { status }: Answer): void {
  if (status === 200) return;
  const isMissing = status === 404 && href.endsWith(MANIFEST);
  const hint = isMissing ? `; a snapshot by URL needs a ${MANIFEST}` : "";
  const token = status === 401 || status === 403 ? " (see --snapshot-token-file)" : "";
  throw new SourceError(`${href}: the server answered ${status}${hint}${token}`);
}

export function totalBytes({ files }: Manifest): number {
  return Array.from(files.values()).reduce((total, { bytes }) => total + bytes, 0);
}

/** Parses a manifest. @throws {SourceError} when it is invalid or not that of a whole snapshot */
function parseWhole(bytes: Buffer, folder: URL): Manifest {
  const problems = new Problems();
  const manifest = parseManifest(bytes, problems);
  if (manifest === undefined) throw new SourceError(folder.href + problems.lines()[0]);
  const names = Array.from(manifest.files.keys(), (name) => name.replace(/\.gz$/, "")).sort();
  const isWhole = [[PREPARED], [...ROW_FILES].sort()].some((whole) => String(whole) === String(names));
  const isLarge = totalBytes(manifest) > MAX_SNAPSHOT_BYTES;
  if (isWhole && !isLarge) return manifest;
  const problem = isLarge
    ? `${totalBytes(manifest)} bytes together, more than the 16 GiB that a snapshot may have`
    : `must be ${ROW_FILES.join(", ")}, each once, or ${PREPARED} alone`;
  throw new SourceError(`${folder.href}${MANIFEST}: files: ${problem}`);
}

/** Requests the manifest. @returns undefined when its ETag still matches @throws {SourceError} also when it is not that of a whole snapshot */
export async function askManifest(client: SourceClient, folder: URL, etag: string | undefined) {
  const url = new URL(MANIFEST, folder);
  // "no-cache" makes intermediate caches revalidate it, too.
  const headers = { "cache-control": "no-cache", "accept-encoding": "identity" };
  const answer = await client.get(url, etag === undefined ? headers : { ...headers, "if-none-match": etag });
  if (answer.status === 304 && etag !== undefined) return undefined;
  checkStatus(url, answer);
  const parts: Buffer[] = [];
  let received = 0;
  for await (const chunk of answer.chunks) {
    received += chunk.length;
    if (received > MOST_MANIFEST_BYTES) throw new SourceError(`${url.href}: is larger than 1 MiB`);
    parts.push(chunk);
  }
  const bytes = Buffer.concat(parts);
  return { manifest: parseWhole(bytes, folder), bytes, sha256: sha256Of(bytes), etag: etagOf(answer) };
}

/**
 * Downloads a file.
 *
 * @param path of a file that does not exist yet; its content is usable only after this resolves
 * @param onBytes receives the number of new bytes
 * @throws {SourceError} when it cannot be downloaded, or differs from the manifest; errors of the file system
 */
export async function download(
  client: SourceClient,
  url: URL,
  { bytes, sha256 }: Listed,
  path: string,
  onBytes: (bytes: number) => void,
): Promise<void> {
  // Some stores mark a compressed file as encoded, and decode it for a client that does not accept gzip.
  const answer = await client.get(url, {
    "accept-encoding": /\.gz$/.test(url.pathname) ? "gzip" : "identity",
  });
  checkStatus(url, answer);
  const encoding = answer.header("content-encoding");
  const hint = encoding === undefined ? "" : `; the server sends it with Content-Encoding: ${encoding}`;
  const fail = (what: string): never => {
    throw new SourceError(`${url.href}: ${what}${hint}`);
  };
  const length = answer.header("content-length") ?? bytes;
  if (Number(length) !== bytes) fail(`has ${length} bytes, the manifest says ${bytes}`);
  const hash = createHash("sha256");
  let received = 0;
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of answer.chunks) {
      received += chunk.length;
      if (received > bytes) fail(`has more than the ${bytes} bytes that the manifest says`);
      hash.update(chunk);
      await file.appendFile(chunk);
      onBytes(chunk.length);
    }
  } finally {
    await file.close();
  }
  if (received < bytes) fail(`ended after ${received} of ${bytes} bytes`);
  const found = hash.digest("hex");
  if (found !== sha256) fail(`sha256 is ${found}, the manifest says ${sha256}`);
}
