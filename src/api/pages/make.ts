/** Makes a set of pages from its folder: scripts bundled for browsers, names with hashes, everything gzipped. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, extname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { type PageFile, type PagesSource, pageHash } from "./file.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
};

const require = createRequire(import.meta.url);
const compressed = promisify(gzip);

async function store(path: string, contents: string | Uint8Array, isHashed: boolean): Promise<PageFile> {
  const bytes = await compressed(contents, { level: constants.Z_BEST_COMPRESSION });
  const type = TYPES[extname(path)] ?? TYPES[".html"]!;
  return { path, type, hash: pageHash(contents), isHashed, gzip: bytes.toString("base64") };
}

/** Bundles the script and the style. @returns their contents, by their names without hashes */
async function bundle(folder: string): Promise<Map<string, Uint8Array>> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ["page.ts", "page.css"],
    outdir: folder,
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
  });
  return new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
}

function sourceOf(contents: string): string {
  return `'sha256-${createHash("sha256").update(contents).digest("base64")}'`;
}

/** A page with its script and style inline, in place of the elements that load them. */
async function storeAsOne(path: string, html: string, loaded: Map<string, Uint8Array>): Promise<PageFile> {
  const [script, style] = ["page.js", "page.css"].map((file) => Buffer.from(loaded.get(file)!).toString());
  // Neither may contain the end of its element; the bundler escapes such text.
  if (/<\/(script|style)|<!--/i.test(script! + style!))
    throw new Error(`${path}: its script or style ends too soon`);
  const text = html
    .replace('<link rel="stylesheet" href="page.css" />', () => `<style>${style}</style>`)
    .replace(
      '<script type="module" src="page.js"></script>',
      () => `<script type="module">${script}</script>`,
    );
  const allows = `script-src ${sourceOf(script!)}; style-src ${sourceOf(style!)}`;
  return { ...(await store(path, text, false)), allows };
}

/** Makes all files of a set, in a few tenths of a second. */
export async function makePages(source: PagesSource): Promise<PageFile[]> {
  const { name, path, under, copied = {}, documents = {} } = source;
  const folder = fileURLToPath(new URL(`../../${source.folder}`, import.meta.url));
  const loaded = await bundle(folder);
  for (const [file, module] of Object.entries(copied))
    loaded.set(file, await readFile(require.resolve(module)));
  let text = await readFile(`${folder}index.html`, "utf8");
  if (under === undefined) return [await storeAsOne(path, text, loaded)];
  const base = new URL(under, `http://page${path}`).pathname;
  const files: Promise<PageFile>[] = [];
  for (const [file, contents] of loaded) {
    const extension = extname(file);
    const hashed = `${basename(file, extension)}-${pageHash(contents)}${extension}`;
    if (!text.includes(`"${file}"`)) throw new Error(`${name}/index.html does not load ${file}`);
    text = text.replaceAll(`"${file}"`, `"${under}${hashed}"`);
    files.push(store(base + hashed, contents, true));
  }
  for (const [place, documentOf] of Object.entries(documents)) {
    files.push(store(place, `${JSON.stringify(await documentOf(), null, 2)}\n`, false));
  }
  files.push(store(path, text, false));
  return await Promise.all(files);
}
