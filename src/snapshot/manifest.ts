/** The optional manifest: the description of a snapshot's files. */

import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { readGiven, readStart } from "../files/given.ts";
import { parseTime } from "../model/time.ts";
import { isCount, isObject, notJson, parsedJson } from "../util/json.ts";
import { isRowFile, MANIFEST, PREPARED } from "./files.ts";
import { type Problems, showValue } from "./problems.ts";

const FORMAT = "orrery-snapshot/1";
const MAX_BYTES = 1_048_576;
const GENERATION = /^[A-Za-z0-9._-]{1,64}$/;

/** What a manifest states of a file, and a load finds out. */
export interface Listed {
  /** Lines that are not blank. */
  readonly rows: number;
  readonly bytes: number;
  /** Hex hash of these bytes. */
  readonly sha256: string;
}

export interface Manifest {
  readonly generation: string;
  readonly createdAt: string | undefined;
  readonly files: ReadonlyMap<string, Listed>;
}

/** Parses a file's entry. @returns the entry, or what is wrong with it */
function parseListed(name: string, value: unknown): Listed | string {
  if (name !== PREPARED && !isRowFile(name)) return `${showValue(name)} is not a file of a snapshot`;
  if (!isObject(value)) return `${name}: must be an object`;
  // For a prepared file the bytes and their hash suffice.
  const { rows = name === PREPARED ? 0 : undefined, bytes, sha256 } = value;
  if (!isCount(rows) || !isCount(bytes)) return `${name}: rows and bytes must be whole numbers`;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/i.test(sha256))
    return `${name}: sha256 must be 64 hex digits`;
  return { rows, bytes, sha256: sha256.toLowerCase() };
}

export function parseManifest(stored: Buffer, problems: Problems): Manifest | undefined {
  const bad = (what: string): undefined => void problems.file(MANIFEST, what);
  if (stored.length > MAX_BYTES) return bad("is larger than 1 MiB");
  if (!isUtf8(stored)) return bad("not valid UTF-8");
  const json = stored.toString().replace(/^\uFEFF/, "");
  const value = parsedJson(json);
  if (value === undefined) return bad(notJson(json));
  if (!isObject(value)) return bad("must be an object");
  const { format, generation, createdAt, files } = value;
  const before = problems.count;
  if (format !== FORMAT) bad(`format: must be "${FORMAT}", is ${showValue(format)}`);
  if (typeof generation !== "string" || !GENERATION.test(generation))
    bad(`generation: must be 1 to 64 of A-Z a-z 0-9 . _ -, is ${showValue(generation)}`);
  if (createdAt !== undefined && (typeof createdAt !== "string" || Number.isNaN(parseTime(createdAt))))
    bad(`createdAt: must be a time, is ${showValue(createdAt)}`);
  if (!isObject(files)) bad("files: must be an object");
  const listed = new Map<string, Listed>();
  for (const [name, entry] of Object.entries(isObject(files) ? files : {})) {
    const file = parseListed(name, entry);
    if (typeof file === "string") bad(`files: ${file}`);
    else listed.set(name, file);
  }
  if (problems.count > before) return undefined;
  return { generation: generation as string, createdAt: createdAt as string | undefined, files: listed };
}

export async function readManifest(handle: FileHandle, problems: Problems): Promise<Manifest | undefined> {
  return parseManifest(await readStart(handle, MAX_BYTES + 1), problems);
}

/** The text of a manifest. @param fields all but the format, in their order, perhaps with others that no load reads */
export function manifestText(fields: object): string {
  return `${JSON.stringify({ format: FORMAT, ...fields }, null, 2)}\n`;
}

/** Compares the listed files with the files that were read. Rows of a prepared file are not counted. */
export function compareWithManifest(
  manifest: Manifest,
  read: ReadonlyMap<string, Omit<Listed, "rows"> & { rows?: number }>,
  problems: Problems,
): void {
  const bad = (what: string): void => problems.file(MANIFEST, `files: ${what}`);
  for (const name of manifest.files.keys()) if (!read.has(name)) bad(`${name} is listed, but does not exist`);
  for (const [name, stored] of read) {
    const listed = manifest.files.get(name);
    if (listed === undefined) {
      bad(`${name} is not listed`);
      continue;
    }
    for (const what of ["bytes", "rows", "sha256"] as const) {
      if (stored[what] === undefined || listed[what] === stored[what]) continue;
      bad(`${name}: ${what}: listed ${listed[what]}, the file has ${stored[what]}`);
    }
  }
}

/** The manifest in a folder, if it can be read and is an object. */
export async function readManifestOf(folder: string): Promise<Record<string, unknown> | undefined> {
  const given = await readGiven(join(folder, MANIFEST), MAX_BYTES).catch(() => undefined);
  const manifest = parsedJson(given?.bytes.toString() ?? "");
  return isObject(manifest) ? manifest : undefined;
}
