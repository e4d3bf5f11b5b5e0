/** Downloads a source's manifest and files. Files are checked while they arrive; after a broken connection a download resumes. */

import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { ROW_FILES } from "../../model/model.ts";
import { MANIFEST, PREPARED } from "../../snapshot/files.ts";
import { type Listed, type Manifest, parseManifest } from "../../snapshot/manifest.ts";
import { Problems } from "../../snapshot/problems.ts";
import { readWhole, request, type SourceAnswer } from "../../upstream/request.ts";
import { type RetryPolicy, retry } from "../../upstream/retry.ts";
import { SourceError } from "../../util/source-error.ts";

const MOST_BYTES = 1_048_576;

/** A manifest as received, and the hex hash of its bytes. */
export type SentManifest = NonNullable<Awaited<ReturnType<typeof askManifest>>>;

/** nginx and others build ETags from size and second: a file that changed less than this before may share its ETag with a later one. */
const SAME_TAG_MS = 2000;

/** An ETag that can detect changes when sent back; undefined when it cannot. */
function etagOf(headers: Headers): string | undefined {
  const etag = headers.get("etag") ?? "";
  if (etag.length > 1024 || !/^(W\/)?"[\x21\x23-\x7e]*"$/.test(etag)) return undefined;
  const age = Date.parse(headers.get("date") ?? "") - Date.parse(headers.get("last-modified") ?? "");
  return age < SAME_TAG_MS ? undefined : etag;
}

/** The length that an answer announces. */
function lengthOf(headers: Headers): number | undefined {
  const length = headers.get("content-length");
  return length === null ? undefined : Number(length);
}

export function sha256Of(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Explains a missing manifest, which a folder need not have. */
function withReason(error: unknown): unknown {
  if (!(error instanceof SourceError) || error.status !== 404) return error;
  return new SourceError(`${error.message}; a snapshot by URL needs a ${MANIFEST}`, error);
}

/** Requests the manifest. @returns undefined when its ETag still matches @throws {SourceError} */
export async function askManifest(
  folder: URL,
  token: string | undefined,
  etag: string | undefined,
  policy: RetryPolicy,
) {
  const url = new URL(MANIFEST, folder);
  const { timing, signal } = policy;
  // "no-cache" makes intermediate caches revalidate it, too.
  const headers = { "cache-control": "no-cache", "if-none-match": etag };
  const statuses = etag === undefined ? [200] : [200, 304];
  const late = new SourceError(`${url.href}: not here within ${timing.manifestMs / 1000} s`);
  const tooLarge = new SourceError(`${url.href}: is larger than 1 MiB`, { isLasting: true });
  const question = { url, token, headers, statuses, late, timing, signal };
  return await retry(policy, () =>
    request(question, async (answer) => {
      if (answer.status === 304) return undefined;
      const bytes = await readWhole(answer, MOST_BYTES, tooLarge);
      const announced = lengthOf(answer.headers);
      if (announced !== undefined && announced !== bytes.length) {
        throw new SourceError(`${url.href}: ended after ${bytes.length} of ${announced} bytes`);
      }
      return { bytes, sha256: sha256Of(bytes), etag: etagOf(answer.headers) };
    }),
  ).catch((error: unknown) => {
    throw withReason(error);
  });
}

export function totalBytes({ files }: Manifest): number {
  return Array.from(files.values()).reduce((total, { bytes }) => total + bytes, 0);
}

/** Why a manifest's list of files is not a whole snapshot; undefined when it is one. */
function problemWithFiles({ files }: Manifest): string | undefined {
  if (files.has(PREPARED)) {
    return files.size === 1 ? undefined : `files: beside ${PREPARED} there can be no other`;
  }
  const tables = Array.from(files.keys(), (name) => name.replace(/\.gz$/, ""));
  for (const table of ROW_FILES) {
    const forms = tables.filter((name) => name === table).length;
    if (forms !== 1) return `files: ${table} is ${forms === 0 ? "missing" : "listed in several forms"}`;
  }
  return undefined;
}

/** Parses a manifest of at most `maxBytes` of files. @throws {SourceError} when it is invalid or not that of a whole snapshot */
export function readSent(folder: URL, { bytes }: SentManifest, maxBytes: number): Manifest {
  const problems = new Problems();
  const manifest = parseManifest(bytes, problems);
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

/** A file differs from its entry in the manifest: one of the two may belong to another snapshot. */
export class MismatchError extends SourceError {
  override name = "MismatchError";
  override readonly isLasting = true;
}

interface Wanted extends Pick<Listed, "bytes" | "sha256"> {
  readonly url: URL;
  readonly token: string | undefined;
  /** Receives the number of new bytes; negative when the download starts over. */
  readonly onBytes: (bytes: number) => void;
}

/** An attempt that brings this many bytes resets the count of failures. */
const ADVANCE_BYTES = 1_048_576;

/** Statuses for a file that was removed or became shorter. */
const GONE: ReadonlySet<number | undefined> = new Set([404, 410, 416]);

interface Part {
  readonly handle: FileHandle;
  bytes: number;
  hash: Hash;
}

async function beginAnew(part: Part, onBytes: Wanted["onBytes"]): Promise<void> {
  await part.handle.truncate(0);
  onBytes(-part.bytes);
  part.bytes = 0;
  part.hash = createHash("sha256");
}

/** Compares the announced length with the manifest. @throws {MismatchError} */
function checkHead({ url, bytes }: Wanted, { headers }: SourceAnswer): void {
  const length = headers.get("content-length");
  if (![undefined, bytes].includes(lengthOf(headers)))
    throw new MismatchError(`${url.href}: has ${length} bytes, the manifest says ${bytes}`);
}

/** The server compressed a compressed file once more. */
class EncodedTwice extends Error {}

/** @throws {EncodedTwice} for an encoded answer that is not as long as what was asked for */
function checkEncoding({ bytes }: Wanted, part: Part, { status, headers }: SourceAnswer): void {
  const left = status === 206 ? bytes - part.bytes : bytes;
  if (headers.has("content-encoding") && lengthOf(headers) !== left) throw new EncodedTwice();
}

/** Whether an answer continues at the end of the part. @throws {MismatchError} when it continues elsewhere */
function goesOn({ url, bytes }: Wanted, part: Part, { status, headers }: SourceAnswer): boolean {
  if (status !== 206) return false;
  const range = headers.get("content-range") ?? "";
  if (range === `bytes ${part.bytes}-${bytes - 1}/${bytes}`) return true;
  throw new MismatchError(`${url.href}: another part of the file was sent than was asked for`);
}

async function take(wanted: Wanted, part: Part, answer: SourceAnswer): Promise<void> {
  const { url, bytes, sha256, onBytes } = wanted;
  if (!goesOn(wanted, part, answer)) {
    checkHead(wanted, answer);
    await beginAnew(part, onBytes);
  }
  const encoding = answer.headers.get("content-encoding");
  const hint = encoding === null ? "" : `; the server sends it with Content-Encoding: ${encoding}`;
  for await (const chunk of answer.chunks) {
    if (part.bytes + chunk.length > bytes) {
      throw new MismatchError(`${url.href}: has more than the ${bytes} bytes that the manifest says${hint}`);
    }
    await part.handle.appendFile(chunk);
    part.hash.update(chunk);
    part.bytes += chunk.length;
    onBytes(chunk.length);
  }
  if (part.bytes < bytes) {
    throw new SourceError(`${url.href}: ended after ${part.bytes} of ${bytes} bytes${hint}`);
  }
  const found = part.hash.copy().digest("hex");
  if (found !== sha256) {
    throw new MismatchError(`${url.href}: sha256 is ${found}, the manifest says ${sha256}${hint}`);
  }
}

/**
 * Downloads a file.
 *
 * @param path of a file that does not exist yet; its content is usable only after this resolves
 * @throws {MismatchError} when the file differs from the manifest
 * @throws {SourceError} when it cannot be downloaded; errors of the file system
 */
export async function download(wanted: Wanted, path: string, patience: RetryPolicy): Promise<void> {
  const { url, token } = wanted;
  const { timing, signal } = patience;
  const handle = await open(path, "ax", 0o600);
  try {
    const part: Part = { handle, bytes: 0, hash: createHash("sha256") };
    // Some stores mark a compressed file as encoded, and decode it for who does not take gzip.
    let encoding = url.pathname.endsWith(".gz") ? "gzip" : "identity";
    await retry(patience, async (advanced) => {
      const before = part.bytes;
      const statuses = before === 0 ? [200] : [200, 206];
      const range = before === 0 ? undefined : `bytes=${before}-`;
      const ask = () =>
        request(
          { url, token, headers: { range, "accept-encoding": encoding }, statuses, timing, signal },
          async (answer) => {
            if (encoding === "gzip") checkEncoding(wanted, part, answer);
            await take(wanted, part, answer);
          },
        );
      try {
        await ask().catch((error: unknown) => {
          if (!(error instanceof EncodedTwice)) throw error;
          encoding = "identity";
          return ask();
        });
      } finally {
        if (part.bytes - before >= ADVANCE_BYTES) advanced();
      }
    }).catch((error: unknown) => {
      wanted.onBytes(-part.bytes);
      if (error instanceof SourceError && GONE.has(error.status)) throw new MismatchError(error.message);
      throw error;
    });
    await handle.sync();
  } finally {
    await handle.close();
  }
}
