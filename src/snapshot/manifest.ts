/** The optional manifest: what a snapshot says about its own files. */

import { isUtf8 } from "node:buffer";
import { type FileHandle, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROW_FILES } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { isCount, isObject, notJson } from "../util/json.ts";
import { MANIFEST, PREPARED } from "./files.ts";
import { type Problems, showValue } from "./problems.ts";
import type { Stored } from "./read.ts";

/** Name and version of the format, as manifests tell it. */
export const FORMAT = "orrery-snapshot/1";
const MAX_BYTES = 1_048_576;
const GENERATION = /^[A-Za-z0-9._-]{1,64}$/;

/** A file as the manifest lists it. */
export interface Listed {
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** A manifest of the right form. */
export interface Manifest {
  readonly generation: string;
  readonly createdAt: string | undefined;
  readonly files: ReadonlyMap<string, Listed>;
}

/** Whether it can be the name of a generation. */
export function isGenerationName(value: unknown): value is string {
  return typeof value === "string" && GENERATION.test(value);
}

function parseListed(name: string, value: unknown, problems: Problems): Listed | undefined {
  const table = name.replace(/\.(gz|zst)$/, "");
  if (name !== PREPARED && !ROW_FILES.some((file) => file === table)) {
    problems.file(MANIFEST, `files: ${showValue(name)} is not a file of a snapshot`);
    return undefined;
  }
  if (!isObject(value)) {
    problems.file(MANIFEST, `files: ${name}: must be an object`);
    return undefined;
  }
  // For a prepared file the bytes and their hash suffice.
  const { rows = name === PREPARED ? 0 : undefined, bytes, sha256 } = value;
  if (!isCount(rows) || !isCount(bytes)) {
    problems.file(MANIFEST, `files: ${name}: rows and bytes must be whole numbers`);
    return undefined;
  }
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/i.test(sha256)) {
    problems.file(MANIFEST, `files: ${name}: sha256 must be 64 hex digits`);
    return undefined;
  }
  return { rows, bytes, sha256: sha256.toLowerCase() };
}

/** Reads a manifest's text; what is wrong goes to `problems`. */
export function parseManifest(text: string, problems: Problems): Manifest | undefined {
  const json = text.replace(/^\uFEFF/, "");
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    problems.file(MANIFEST, notJson(json));
    return undefined;
  }
  if (!isObject(value)) {
    problems.file(MANIFEST, "must be an object");
    return undefined;
  }
  const { format, generation, createdAt, files } = value;
  const before = problems.count;
  if (format !== FORMAT) problems.file(MANIFEST, `format: must be "${FORMAT}", is ${showValue(format)}`);
  if (!isGenerationName(generation)) {
    problems.file(MANIFEST, `generation: must be 1 to 64 of A-Z a-z 0-9 . _ -, is ${showValue(generation)}`);
  }
  if (createdAt !== undefined && (typeof createdAt !== "string" || Number.isNaN(parseTime(createdAt)))) {
    problems.file(MANIFEST, `createdAt: must be a time, is ${showValue(createdAt)}`);
  }
  const listed = new Map<string, Listed>();
  if (!isObject(files)) {
    problems.file(MANIFEST, "files: must be an object");
  } else {
    for (const [name, entry] of Object.entries(files)) {
      const file = parseListed(name, entry, problems);
      if (file) listed.set(name, file);
    }
  }
  if (problems.count > before) return undefined;
  return { generation: generation as string, createdAt: createdAt as string | undefined, files: listed };
}

/** Reads and parses the manifest behind a handle. */
export async function readManifest(handle: FileHandle, problems: Problems): Promise<Manifest | undefined> {
  const buffer = Buffer.alloc(MAX_BYTES + 1);
  let bytes = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, bytes, buffer.length - bytes, bytes);
    bytes += bytesRead;
    if (bytesRead === 0 || bytes === buffer.length) break;
  }
  if (bytes > MAX_BYTES) {
    problems.file(MANIFEST, "is larger than 1 MiB");
    return undefined;
  }
  const stored = buffer.subarray(0, bytes);
  if (!isUtf8(stored)) {
    problems.file(MANIFEST, "not valid UTF-8");
    return undefined;
  }
  return parseManifest(stored.toString("utf8"), problems);
}

/** Compares what is listed with what was read. Rows of a prepared file are not counted. */
export function compareWithManifest(
  manifest: Manifest,
  read: ReadonlyMap<string, Stored & { rows?: number }>,
  problems: Problems,
): void {
  for (const name of manifest.files.keys()) {
    if (!read.has(name)) problems.file(MANIFEST, `files: ${name} is listed, but does not exist`);
  }
  for (const [name, stored] of read) {
    const listed = manifest.files.get(name);
    if (listed === undefined) {
      problems.file(MANIFEST, `files: ${name} is not listed`);
      continue;
    }
    for (const what of ["bytes", "rows", "sha256"] as const) {
      if (stored[what] === undefined || listed[what] === stored[what]) continue;
      problems.file(
        MANIFEST,
        `files: ${name}: ${what}: listed ${listed[what]}, the file has ${stored[what]}`,
      );
    }
  }
}

/** The manifest in a folder, as far as it is an object; undefined where there is none that can be read. */
export async function readManifestOf(folder: string): Promise<Record<string, unknown> | undefined> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, MANIFEST), "utf8"));
    return isObject(manifest) ? manifest : undefined;
  } catch {
    return undefined;
  }
}
