/** Packages of an installation and packages bundled into the program, with their licences. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Metafile } from "esbuild";
import type { PagesSource } from "../src/api/pages/file.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** Optional packages that an installation may add. */
export const OPTIONAL_PEERS: string[] = Object.keys(readManifest(ROOT).peerDependencies ?? {});

/** Folders of the packages in a bundle. */
function foldersOf({ inputs }: Pick<Metafile, "inputs">): string[] {
  const files = Object.keys(inputs);
  return [...new Set(files.flatMap((file) => /[^:]*node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []))];
}

/** Refuses bundled packages of versions that differ from the lock file. @throws {Error} naming the package */
export function checkLocked(bundle: Pick<Metafile, "inputs">): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, { version: string } | undefined>>;
  };
  for (const folder of foldersOf(bundle)) {
    const { name, version } = readManifest(join(ROOT, folder));
    const locked = packages[folder]?.version;
    if (version !== locked) throw new Error(`${name} is ${version}, locked is ${locked}: run npm ci`);
  }
}

/** Licences of packages that publish theirs only in their repository. */
const KEPT_HERE = join(ROOT, "tools/licences");

/** The text of a package's licence: its own file, one that is kept here, or its README from the licence heading on. */
function licenceText(folder: string, name: string): string {
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file !== undefined) return readFileSync(join(folder, file), "utf8").trim();
  const kept = join(KEPT_HERE, `${name.replace("/", "-")}.txt`);
  if (existsSync(kept)) return readFileSync(kept, "utf8").trim();
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  const at = readme.search(/^## licen[cs]e$/im);
  if (at < 0 || !readme.slice(at).includes("Permission is hereby granted"))
    throw new Error(`${name} has no licence to be passed on`);
  return readme.slice(at).trim();
}

/** Notices of a package about others that it contains: a NOTICE file, or a file beside a bundle. */
function noticesOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name === "NOTICE" || name === "swagger-ui-bundle.js.LICENSE.txt")
    .map((name) => readFileSync(join(folder, name), "utf8").trim());
}

/**
 * The licences of the packages in the program.
 *
 * @param whole packages with files copied unchanged
 */
export function licencesOf(bundle: Pick<Metafile, "inputs">, whole: readonly string[]): string {
  const folders = [...foldersOf(bundle), ...whole.map((name) => `node_modules/${name}`)];
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = readManifest(join(ROOT, folder));
    const text = [licenceText(join(ROOT, folder), name), ...noticesOf(join(ROOT, folder))].join("\n\n");
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

/** The packages whose files are in sets of pages. */
export function packagesIn(sources: readonly PagesSource[]): string[] {
  const names = sources.flatMap(({ copied = {}, packages = [] }) => [
    ...Object.values(copied).map((file) => file.split("/")[0]!),
    ...packages,
  ]);
  return [...new Set(names)];
}
