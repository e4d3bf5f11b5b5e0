/**
 * The copies of one URL in a folder, the place, that any number of processes share:
 *
 *     current.versions/…/      one snapshot each: its files, its manifest, and `copy.json`
 *     current                  links to the newest complete one
 *
 * A file that two snapshots have in common is one file with two names, so its contents and times are the same.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { link, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { replaceFile } from "../../files/atomic.ts";
import { makeFolder } from "../../files/folders.ts";
import { currentVersion, publishVersion, unpublishVersion } from "../../files/publish.ts";
import { MANIFEST } from "../../snapshot/files.ts";
import { type Listed, parseManifest } from "../../snapshot/manifest.ts";
import { Problems } from "../../snapshot/problems.ts";
import { isObject, parsedJson } from "../../util/json.ts";
import { type SentManifest, sha256Of } from "./download.ts";

/** The manifest's hash and ETag; changed at the moment at which the host last confirmed the copy. */
const RECORD = "copy.json";
const LINK = "current";

/** A snapshot on disk: its folder, its parsed manifest, the hash and ETag of that, and when the host last confirmed it. */
export type Copy = NonNullable<Awaited<ReturnType<typeof currentCopy>>>;

export function copiesFolderOf(cache: string, address: string): string {
  return join(resolve(cache), sha256Of(new URL(address).href).slice(0, 16));
}

/** The newest copy; undefined if there is none, or its manifest is damaged. A load that reads the files finds other damage. */
export async function currentCopy(place: string) {
  const folder = await currentVersion(join(place, LINK));
  if (folder === undefined) return undefined;
  const path = join(folder, RECORD);
  const record = parsedJson(await readFile(path, "utf8").catch(() => ""));
  const bytes = await readFile(join(folder, MANIFEST)).catch(() => Buffer.alloc(0));
  const manifest = parseManifest(bytes, new Problems());
  const sha256 = sha256Of(bytes);
  if (manifest === undefined || !isObject(record) || record.sha256 !== sha256) return undefined;
  const etag = typeof record.etag === "string" ? record.etag : undefined;
  return { folder, manifest, sha256, etag, confirmedMs: (await stat(path)).mtimeMs };
}

/** Records that the host confirmed a copy, now by this ETag. */
export async function confirmCopy(
  { folder, sha256, etag }: Copy,
  newEtag: string | undefined,
): Promise<void> {
  const path = join(folder, RECORD);
  try {
    if (newEtag !== etag) await replaceFile(path, JSON.stringify({ sha256, etag: newEtag }));
    await utimes(path, new Date(), new Date());
  } catch {
    // In a cache that cannot be written to, the cost is a download of the manifest, or an age that is too high.
  }
}

/** Gives a file of a copy another name, if its hash is the listed one. @returns whether it did: some file systems have no links */
async function linkSame(copy: Copy | undefined, name: string, { sha256 }: Listed, path: string) {
  if (copy?.manifest.files.get(name)?.sha256 !== sha256) return false;
  return await link(join(copy!.folder, name), path).then(
    () => true,
    () => false,
  );
}

/**
 * Makes and publishes a copy of a manifest's files. After a failure nothing of it stays.
 *
 * @param bring downloads one file to a path that does not exist yet
 * @returns numbers of files that were downloaded, and that were here already, and the bytes of the downloaded ones
 */
export async function publishCopy(
  place: string,
  { manifest: { files: listed }, bytes: manifestBytes, sha256, etag }: SentManifest,
  bring: (name: string, listed: Listed, path: string) => Promise<void>,
) {
  let files = 0;
  let bytes = 0;
  await makeFolder(place, 0o700);
  await publishVersion(join(place, LINK), async (folder) => {
    const copy = await currentCopy(place);
    for (const [name, file] of listed) {
      if (await linkSame(copy, name, file, join(folder, name))) continue;
      await bring(name, file, join(folder, name));
      files++;
      bytes += file.bytes;
    }
    // Another process may have published this snapshot already.
    if ((await currentCopy(place))?.sha256 === sha256) return undefined;
    await writeFile(join(folder, MANIFEST), manifestBytes);
    await writeFile(join(folder, RECORD), JSON.stringify({ sha256, etag }));
    return true;
  });
  return { files, reused: listed.size - files, bytes };
}

/** Removes the current copy if a file of it has a wrong hash. @returns whether the folder is no longer that of a good copy */
export async function removeDamagedCopy(place: string, folder: string): Promise<boolean> {
  const copy = await currentCopy(place);
  if (copy?.folder !== folder) return true;
  for (const [name, { sha256 }] of copy.manifest.files) {
    const hash = createHash("sha256");
    // A file that cannot be read counts as damaged.
    await pipeline(createReadStream(join(folder, name)), async (chunks) => {
      for await (const chunk of chunks) hash.update(chunk);
    }).catch(() => {});
    if (hash.digest("hex") === sha256) continue;
    await unpublishVersion(join(place, LINK), folder);
    return true;
  }
  return false;
}
