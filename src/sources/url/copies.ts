/**
 * The copies of one source on the disk, shared by any number of processes:
 *
 *     files/SHA256-NAME        what was downloaded, checked
 *     current.versions/…/      a snapshot each: its manifest, `copy.json`, and a symbolic link per file into `files`
 *     current                  leads to the newest whole one
 *
 * So a file that two snapshots have in common is the same file in both, its times included. A name in `files` says what is in
 * it, so the second process finds what the first has done, and renaming over it changes nothing.
 *
 * Files that no copy links to are removed. One process at a time (`files.owner`) links or removes: else one would remove what
 * another has just found.
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
/** How long another process's turn is waited for. */
const TURN_PATIENCE_MS = 10_000;
/** A process removes files for so long at most. One that was suspended meanwhile removes nothing after others gave up waiting. */
const TURN_MS = TURN_PATIENCE_MS / 2;
/** A confirmation is written down this often, in milliseconds. */
const CONFIRM_MS = 20_000;

/** A whole snapshot on the disk. */
export interface Copy {
  readonly folder: string;
  readonly manifest: Manifest;
  /** Hex hash of the manifest's bytes. */
  readonly sha256: string;
  readonly etag: string | undefined;
  /** When the source last said that it is current, in milliseconds since the epoch. */
  readonly confirmed: number;
}

/** Brings one file to a path where nothing is yet. */
export type Bring = (name: string, listed: Listed, path: string) => Promise<void>;

/** What became of a publication. */
export interface Brought {
  /** Files that were downloaded, and files that were here. */
  readonly files: number;
  readonly reused: number;
  readonly bytes: number;
}

/** What {@link nameOf} gives; nothing else is ever removed. */
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

/** The copies in a folder, which is made when the first one comes. */
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

  /** The newest copy; undefined when there is none that is whole, as far as names, sizes and its manifest tell. */
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

  /** The source says that a copy is still what it has. A cache that cannot be written to is left as it is. */
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
      // It costs a download of the manifest, or an age that is told too high.
    }
  }

  /** Makes a copy of the files of a manifest, and the newest one of it. When that fails, only whole files stay, for another try. */
  async publish(sent: SentManifest, manifest: Manifest, bring: Bring): Promise<Brought> {
    let files = 0;
    let bytes = 0;
    await makeFolder(this.#files, 0o700);
    await publishVersion(this.#link, async (folder) => {
      for (const [name, listed] of await this.#takeUp(folder, manifest)) {
        const stored = join(this.#files, nameOf(name, listed));
        // Somebody else may have brought it meanwhile.
        if (await isWhole(stored, listed)) continue;
        const part = join(folder, `${name}.part`);
        await bring(name, listed, part);
        // Again, since a server may be reading the file of a faster process: another one in its place would end its start.
        if (await isWhole(stored, listed)) await rm(part);
        else await rename(part, stored);
        files++;
        bytes += listed.bytes;
      }
      // Another process may have been faster.
      if ((await this.current())?.sha256 === sent.sha256) return undefined;
      await writeFile(join(folder, MANIFEST), sent.bytes);
      await writeFile(join(folder, RECORD), this.#record(sent.sha256, sent.etag));
      return true;
    });
    await this.#clearUp();
    return { files, reused: manifest.files.size - files, bytes };
  }

  /** Removes what processes left that were killed while they made a copy. */
  async clear(): Promise<void> {
    const isThere = await stat(versionsOf(this.#link)).catch(() => undefined);
    if (isThere) await publishVersion(this.#link, async () => undefined);
  }

  /** Removes those files of a copy whose contents are not what they should be; tells how many. */
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

  /** Ends the turn that it takes; undefined when another process has had the files for all of {@link TURN_PATIENCE_MS}. */
  async #takeTurn(): Promise<(() => Promise<void>) | undefined> {
    try {
      return (await hold(this.#files + OWNER_ENDING, { patienceMs: TURN_PATIENCE_MS })).release;
    } catch (error) {
      if (error instanceof HeldError) return undefined;
      throw error;
    }
  }

  /** Links the files of a copy in the making, which keeps them. @returns files that are not here */
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

  /** Removes the files that no copy links to, whole or in the making. */
  async #clearUp(): Promise<void> {
    const endTurn = await this.#takeTurn();
    // The process that has the turn clears up, too.
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
