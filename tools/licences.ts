/** Packages that an installation brings, and those that become part of the program, with their licences. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Metafile } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

const { dependencies, peerDependencies } = readManifest(ROOT);

/** The packages that are installed beside ours, or may be. */
export const RUNTIME_DEPENDENCIES: string[] = Object.keys({ ...dependencies, ...peerDependencies });

/** The licences of the packages that became part of the program. */
export function licencesOf({ inputs }: Pick<Metafile, "inputs">): string {
  const folders = Object.keys(inputs).flatMap(
    (file) => /[^:]*node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
  );
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = readManifest(join(ROOT, folder));
    const file = readdirSync(join(ROOT, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence to be passed on`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(ROOT, folder, file), "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
