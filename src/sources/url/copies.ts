/**
 * The copies of one source on disk, shared by any number of processes:
 *
 *     files/SHA256-NAME        downloaded and checked files
 *     current.versions/…/      one snapshot each: its manifest, `copy.json`, and a symbolic link per file into `files`
 *     current                  links to the newest complete one
 *
 * Two snapshots share a file that they have in common, its times included. A name in `files` identifies the content: a second
 * process finds the files of the first, and renaming over one changes nothing.
 *
 * Files that no copy links to are removed. A lock (`files.owner`) lets one process at a time link or remove: otherwise one could
 * remove a file that another has just found.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, readlink, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { replaceFile } from "../../files/atomic.ts";
import { makeFolder } from "../../files/folders.ts";
import { HeldError, hold, OWNER_ENDING } from "../../files/ownership.ts";
import { currentVersion, publishVersion, versionsOf } from "../../files/publish.ts";
import { MANIFEST } from "../../snapshot/files.ts";
import { type Listed, type Manifest, parseManifest } from "../../snapshot/manifest.ts";
import { Problems } from "../../snapshot/problems.ts";
import { isObject } from "../../util/json.ts";
import { type SentManifest, sha256Of } from "./download.ts";

const RECORD = "copy.json";
/** Timeout for the lock. */
const TURN_PATIENCE_MS = 10_000;
/** Time limit on removing files: a process that was suspended removes nothing after others stopped waiting for the lock. */
const TURN_MS = TURN_PATIENCE_MS / 2;
/** Minimum milliseconds between two recorded confirmations. */
const CONFIRM_MS = 20_000;

/** A complete snapshot on disk. */
export interface Copy {
  readonly folder: string;
  readonly manifest: Manifest;
  /** Hex hash of the manifest's bytes. */
  readonly sha256: string;
  readonly etag: string | undefined;
  /** When the source last confirmed the copy, in milliseconds since the epoch. */
  readonly confirmed: number;
}

/** Downloads one file to a path that does not exist yet. */
export type Bring = (name: string, listed: Listed, path: string) => Promise<void>;

/** Result of a publication. */
export interface Brought {
  /** Files that were downloaded, and files that were already here. */
  readonly files: number;
  readonly reused: number;
  readonly bytes: number;
}

/** Names that {@link nameOf} gives; no other file is ever removed. */
const OURS = /^[0-9a-f]{64}-/;

function nameOf(name: string, { sha256 }: Listed): string {
  return `${sha256}-${name}`;
}

async function isWhole(path: string, { bytes }: Listed): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && found.size === bytes;
}

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** The folder for the copies of one URL. */
export function copiesFolderOf(cache: string, address: string): string {
  return join(resolve(cache), sha256Of(new URL(address).href).slice(0, 16));
}

/** The copies in a folder, which the first one creates. */
export class Copies {
  readonly place: string;
  /** URL of the source, for people who look at its folder. */
  readonly #address: string;
  readonly #link: string;
  readonly #files: string;

  constructor(place: string, address: string) {
    this.place = place;
    this.#address = address;
    this.#link = join(place, "current");
    this.#files = join(place, "files");
  }

  /** The newest copy; undefined when none is complete, judged by names, sizes and manifest. */
  async current(): Promise<Copy | undefined> {
    const folder = await currentVersion(this.#link);
    if (folder === undefined) return undefined;
    const read = (name: string) => readFile(join(folder, name)).catch(() => undefined);
    const [bytes, record] = await Promise.all([read(MANIFEST), read(RECORD)]);
    if (bytes === undefined || record === undefined) return undefined;
    const { sha256, etag } = readRecord(record);
    if (sha256 !== sha256Of(bytes)) return undefined;
    const manifest = parseManifest(bytes.toString("utf8"), new Problems());
    if (manifest === undefined) return undefined;
    for (const [name, listed] of manifest.files) {
      if (!(await isWhole(join(folder, name), listed))) return undefined;
    }
    const confirmed = (await stat(join(folder, RECORD)).catch(() => undefined))?.mtimeMs ?? 0;
    return { folder, manifest, sha256, etag, confirmed };
  }

  /** Records that the source confirmed a copy. A cache that cannot be written to stays as it is. */
  async confirm({ folder, sha256, etag, confirmed }: Copy, newEtag: string | undefined): Promise<void> {
    const path = join(folder, RECORD);
    try {
      if (newEtag !== etag) {
        await replaceFile(path, this.#record(sha256, newEtag));
      } else if (Math.abs(Date.now() - confirmed) > CONFIRM_MS) {
        const now = new Date();
        await utimes(path, now, now);
      }
    } catch {
      // The cost is a download of the manifest, or a reported age that is too high.
    }
  }

  /** Makes and publishes a copy of a manifest's files. After a failure only complete files stay, for the next attempt. */
  async publish(sent: SentManifest, manifest: Manifest, bring: Bring): Promise<Brought> {
    let files = 0;
    let bytes = 0;
    await makeFolder(this.#files, 0o700);
    await publishVersion(this.#link, async (folder) => {
      for (const [name, listed] of await this.#takeUp(folder, manifest)) {
        const stored = join(this.#files, nameOf(name, listed));
        // Another process may have downloaded it meanwhile.
        if (await isWhole(stored, listed)) continue;
        const part = join(folder, `${name}.part`);
        await bring(name, listed, part);
        // Check again: a server may be reading a faster process's file, and replacing that file would end the server's start.
        if (await isWhole(stored, listed)) await rm(part);
        else await rename(part, stored);
        files++;
        bytes += listed.bytes;
      }
      // Another process may have published this snapshot already.
      if ((await this.current())?.sha256 === sent.sha256) return undefined;
      await writeFile(join(folder, MANIFEST), sent.bytes);
      await writeFile(join(folder, RECORD), this.#record(sent.sha256, sent.etag));
      return true;
    });
    await this.#clearUp();
    return { files, reused: manifest.files.size - files, bytes };
  }

  /** Removes the leftovers of processes that were killed while they made a copy. */
  async clear(): Promise<void> {
    const isThere = await stat(versionsOf(this.#link)).catch(() => undefined);
    if (isThere) await publishVersion(this.#link, async () => undefined);
  }

  /** Removes the files of a copy that have a wrong hash. @returns their number */
  async removeDamaged({ manifest }: Copy): Promise<number> {
    let damaged = 0;
    for (const [name, listed] of manifest.files) {
      const stored = join(this.#files, nameOf(name, listed));
      if ((await hashOfFile(stored)) === listed.sha256) continue;
      await rm(stored, { force: true });
      damaged++;
    }
    return damaged;
  }

  #record(sha256: string, etag: string | undefined): string {
    return JSON.stringify({ url: this.#address, sha256, etag });
  }

  /** Locks the files. @returns the lock's release; undefined when another process held it for all of {@link TURN_PATIENCE_MS} */
  async #takeTurn(): Promise<(() => Promise<void>) | undefined> {
    try {
      return (await hold(this.#files + OWNER_ENDING, { patienceMs: TURN_PATIENCE_MS })).release;
    } catch (error) {
      if (error instanceof HeldError) return undefined;
      throw error;
    }
  }

  /** Links the files of an unfinished copy, which protects them from removal. @returns the missing files */
  async #takeUp(folder: string, { files }: Manifest): Promise<[string, Listed][]> {
    const endTurn = await this.#takeTurn();
    try {
      const missing: [string, Listed][] = [];
      for (const [name, listed] of files) {
        await symlink(join("..", "..", "files", nameOf(name, listed)), join(folder, name));
        if (!(await isWhole(join(this.#files, nameOf(name, listed)), listed))) missing.push([name, listed]);
      }
      return missing;
    } finally {
      await endTurn?.();
    }
  }

  /** Removes the files that no copy links to, complete or unfinished. */
  async #clearUp(): Promise<void> {
    const endTurn = await this.#takeTurn();
    // The lock's owner clears up, too.
    if (endTurn === undefined) return;
    const end = performance.now() + TURN_MS;
    try {
      const wanted = await this.#linked();
      for (const name of await readdir(this.#files)) {
        if (performance.now() >= end) return;
        if (OURS.test(name) && !wanted.has(name)) await rm(join(this.#files, name), { force: true });
      }
    } finally {
      await endTurn();
    }
  }

  /** Names of the files that copies link to. */
  async #linked(): Promise<ReadonlySet<string>> {
    const versions = versionsOf(this.#link);
    const wanted = new Set<string>();
    for (const version of await readdir(versions, { withFileTypes: true })) {
      if (!version.isDirectory()) continue;
      const folder = join(versions, version.name);
      for (const name of await readdir(folder).catch(() => [])) {
        const target = await readlink(join(folder, name)).catch(() => undefined);
        if (target !== undefined) wanted.add(basename(target));
      }
    }
    return wanted;
  }
}

function readRecord(bytes: Buffer): { readonly sha256?: unknown; readonly etag?: string | undefined } {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (!isObject(value)) return {};
    return { sha256: value.sha256, etag: typeof value.etag === "string" ? value.etag : undefined };
  } catch {
    return {};
  }
}
