/** One file of a snapshot to the disk, checked while it arrives. A connection that breaks is taken up where it broke. */

import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { request, type SourceAnswer } from "../../upstream/request.ts";
import { type RetryPolicy, retry } from "../../upstream/retry.ts";
import { SourceError } from "../../util/source-error.ts";

/** A file is not what the manifest says of it: one of the two may be of another snapshot. */
export class MismatchError extends SourceError {
  override name = "MismatchError";

  constructor(message: string) {
    super(message, { isLasting: true });
  }
}

/** What to download. */
export interface Wanted {
  readonly url: URL;
  readonly token: string | undefined;
  /** What the manifest says of the file. */
  readonly bytes: number;
  readonly sha256: string;
  /** Told how many bytes more arrived; fewer than none when it begins anew. */
  readonly onBytes: (bytes: number) => void;
}

/** A connection that brought so much before it broke may break again. */
const ADVANCE_BYTES = 1_048_576;

/** Statuses of a file that is not there any more, or has become shorter. */
const GONE: ReadonlySet<number | undefined> = new Set([404, 410, 416]);

/** What is there so far. */
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

/** Why an answer is not the file, from its head alone. */
function checkHead({ url, bytes }: Wanted, { headers }: SourceAnswer): void {
  const length = headers.get("content-length");
  // With an encoding it is the length of something else.
  if (length === null || headers.has("content-encoding")) return;
  if (Number(length) !== bytes) {
    throw new MismatchError(`${url.href}: has ${length} bytes, the manifest says ${bytes}`);
  }
}

/** Whether an answer goes on where the part ends. @throws {SourceError} when it goes on elsewhere */
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
 * @param path of a file that does not exist yet; what is in it is of use only when this resolves
 * @throws {MismatchError} when it is not what the manifest says
 * @throws {SourceError} when it cannot be had; errors of the file system
 */
export async function download(wanted: Wanted, path: string, patience: RetryPolicy): Promise<void> {
  const { url, token } = wanted;
  const { timing, signal } = patience;
  const handle = await open(path, "ax", 0o600);
  try {
    const part: Part = { handle, bytes: 0, hash: createHash("sha256") };
    await retry(patience, async (advanced) => {
      const before = part.bytes;
      const headers = before === 0 ? {} : { range: `bytes=${before}-` };
      try {
        await request({ url, token, headers, timing, signal }, before === 0 ? [200] : [200, 206], (answer) =>
          take(wanted, part, answer),
        );
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
