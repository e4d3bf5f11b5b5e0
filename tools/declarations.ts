/** The declarations of the package: of the library, the client, and the modules that they import. */

import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Copies the declarations of an entry and, recursively, of its imports. */
export function copyDeclarations(from: string, to: string, file: string): void {
  if (existsSync(join(to, file))) return;
  mkdirSync(dirname(join(to, file)), { recursive: true });
  copyFileSync(join(from, file), join(to, file));
  for (const [, next] of readFileSync(join(from, file), "utf8").matchAll(/\bfrom "(\.[^"]+)\.ts"/g)) {
    copyDeclarations(from, to, join(dirname(file), `${next}.d.ts`));
  }
}
