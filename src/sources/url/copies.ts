/**
 * The copies of one source on disk, shared by any number of processes:
 *
 *     current.versions/…/      one snapshot each: its files, its manifest, and `copy.json`
 *     current                  links to the newest complete one
 *     incoming/SHA256-NAME     checked files of a copy that is not complete yet
 *
 * A file that two snapshots have in common is one file with two names, so its contents and times are the same. A name that
 * another process has just removed costs a download.
 */

import { createHash } from "node:crypto";
import { createReadStream, lutimes } from "node:fs";
import { link, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { replaceFile } from "../../files/atomic.ts";
import { makeFolder } from "../../files/folders.ts";
import { currentVersion, publishVersion } from "../../files/publish.ts";
import { MANIFEST } from "../../snapshot/files.ts";
import { type Listed, type Manifest, parseManifest } from "../../snapshot/manifest.ts";
import { Problems } from "../../snapshot/problems.ts";
import { isObject } from "../../util/json.ts";
import { type SentManifest, sha256Of } from "./download.ts";

const RECORD = "copy.json";
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

function nameOf([name, { sha256 }]: readonly [string, Listed]): string {
  return `${sha256}-${name}`;
}

async function isWhole(path: string, { bytes }: Listed): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && found.size === bytes;
}

/** Gives a complete file another name. @returns whether there was one */
async function linkWhole(path: string, newPath: string, listed: Listed): Promise<boolean> {
  if (!(await isWhole(path, listed))) return false;
  return await link(path, newPath).then(
    () => true,
    () => false,
  );
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
  readonly #incoming: string;

  constructor(place: string, address: string) {
    this.place = place;
    this.#address = address;
    this.#link = join(place, "current");
    this.#incoming = join(place, "incoming");
  }

  /** The newest copy; undefined when none is complete, judged by names, sizes and manifest. */
  async current(): Promise<Copy | undefined> {
    const folder = await currentVersion(this.#link);
    if (folder === undefined) return undefined;
    const manifest = await readManifestIn(folder);
    const record = await readFile(join(folder, RECORD), "utf8").catch(() => "");
    const { sha256, etag } = readRecord(record);
    if (manifest === undefined || sha256 !== manifest.sha256) return undefined;
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
        await promisify(lutimes)(path, now, now);
      }
    } catch {
      // The cost is a download of the manifest, or a reported age that is too high.
    }
  }

  /**
   * Makes and publishes a copy of a manifest's files. After a failure only complete files stay, for the next attempt.
   *
   * @param bring downloads one file to a path that does not exist yet
   * @returns numbers of files that were downloaded, and that were here already, and the bytes of the downloaded ones
   */
  async publish(
    sent: SentManifest,
    manifest: Manifest,
    bring: (name: string, listed: Listed, path: string) => Promise<void>,
  ) {
    let files = 0;
    let bytes = 0;
    await makeFolder(this.#incoming, 0o700);
    const wanted = new Set(Array.from(manifest.files, nameOf));
    for (const name of await readdir(this.#incoming).catch(() => []))
      if (!wanted.has(name)) await rm(join(this.#incoming, name), { force: true });
    await publishVersion(this.#link, async (folder, current) => {
      const before = current === undefined ? undefined : await readManifestIn(current);
      for (const [name, listed] of manifest.files) {
        const path = join(folder, name);
        const incoming = join(this.#incoming, nameOf([name, listed]));
        if (await linkWhole(incoming, path, listed)) continue;
        if (current !== undefined) {
          const file = join(current, name);
          const sha256 = before ? before.files.get(name)?.sha256 : await hashOfFile(file).catch(() => "");
          if (sha256 === listed.sha256 && (await linkWhole(file, path, listed))) continue;
        }
        await bring(name, listed, path);
        await link(path, incoming).catch(() => {});
        files++;
        bytes += listed.bytes;
      }
      // Another process may have published this snapshot already.
      if ((await this.current())?.sha256 === sent.sha256) return undefined;
      await writeFile(join(folder, MANIFEST), sent.bytes);
      await writeFile(join(folder, RECORD), this.#record(sent.sha256, sent.etag));
      return true;
    });
    await rm(this.#incoming, { recursive: true, force: true });
    return { files, reused: manifest.files.size - files, bytes };
  }

  /** Removes the files of a copy that have a wrong hash. @returns their number */
  async removeDamaged({ folder, manifest }: Copy): Promise<number> {
    let damaged = 0;
    for (const [name, listed] of manifest.files) {
      const stored = join(folder, name);
      if ((await hashOfFile(stored)) === listed.sha256) continue;
      await rm(stored, { force: true });
      damaged++;
    }
    return damaged;
  }

  #record(sha256: string, etag: string | undefined): string {
    return JSON.stringify({ url: this.#address, sha256, etag });
  }
}

/** The manifest in a folder, and the hash of its bytes; undefined if it is not a good one. */
async function readManifestIn(folder: string): Promise<(Manifest & { readonly sha256: string }) | undefined> {
  const bytes = await readFile(join(folder, MANIFEST)).catch(() => Buffer.alloc(0));
  const manifest = parseManifest(bytes, new Problems());
  return manifest && { ...manifest, sha256: sha256Of(bytes) };
}

function readRecord(text: string): { readonly sha256?: unknown; readonly etag?: string | undefined } {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return {};
    return { sha256: value.sha256, etag: typeof value.etag === "string" ? value.etag : undefined };
  } catch {
    return {};
  }
}
