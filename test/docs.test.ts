/** The documents are true: tables match the code, links have targets, commands exist, examples in doc comments run. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { PROGRAM } from "../src/features.ts";
import { FIELDS, RESOURCES, TABLES } from "../src/model/schema.ts";
import { variableOf } from "../src/settings/settings.ts";
import { DOCUMENTS, type Document, documentOf } from "./support/documents.ts";
import { optionsOf } from "./support/options.ts";
import { CLIENT, LIBRARY, ROOT } from "./support/program.ts";
import { GENERATED, SECTIONS, withSections } from "./tools/docs.ts";
import { EXAMPLES_FILE, makeExamples } from "./tools/examples.ts";

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
}

/** Link anchors of a document's headings. */
function anchorsOf({ text }: Document): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function linksOf({ name, text }: Document) {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) => {
    if (/^[a-z]+:/.test(target!)) return [];
    const [path = "", anchor] = target!.split("#");
    return [{ text: target!, path: path === "" ? name : join(dirname(name), path), anchor }];
  });
}

function problemWithLink(path: string, anchor?: string): string | undefined {
  if (!existsSync(join(ROOT, path))) return "there is no such file";
  if (anchor === undefined) return undefined;
  return anchorsOf(documentOf(path)).includes(anchor) ? undefined : "there is no such heading";
}

/**
 * The commands of a shell script, each as its words. Enough of a shell for documents: quotes, comments, redirections,
 * subshells and lists; nothing is expanded.
 */
function commandsOf(script: string): string[][] {
  const commands: string[][] = [[]];
  const joined = script.replaceAll("\\\n", " ");
  const token =
    /\s*(?:(#[^\n]*)|(\d?>>?|<)|([;&|()\n]+)|((?:[^\s;&|()<>"'\\]|\\.|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+))/gy;
  let isTarget = false;
  for (let match = token.exec(joined); match !== null; match = token.exec(joined)) {
    const [whole, comment, redirection, operator, word] = match;
    // A line break ends a command, although it is white space.
    if (/\n/.test(whole.slice(0, whole.length - (word ?? "").length)) || operator) commands.push([]);
    if (comment !== undefined) continue;
    if (redirection !== undefined) isTarget = true;
    if (word === undefined) continue;
    if (!isTarget) commands.at(-1)!.push(word.replace(/"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'/g, "$1$2"));
    isTarget = false;
  }
  return commands.filter((words) => words.length > 0);
}

describe("generated tables", () => {
  it("are what the code makes", () => {
    for (const { name, text } of DOCUMENTS) {
      assert.equal(withSections(text), text, `${name}: run \`npm run docs\``);
      assert.equal(/^<!-- generated: /m.test(text), GENERATED.includes(name), name);
    }
  });

  it("have each default in its column alone", () => {
    for (const { name, text } of DOCUMENTS) assert.doesNotMatch(text, /^\|.*Default:/m, name);
  });

  it("are all in a document", () => {
    const names = DOCUMENTS.flatMap(({ text }) =>
      Array.from(text.matchAll(/^<!-- generated: (\w+) -->$/gm), ([, name]) => name!),
    );
    assert.deepEqual(names.sort(), Object.keys(SECTIONS).sort());
  });
});

describe("the documents", () => {
  const pages = DOCUMENTS.filter(({ name }) => name.startsWith("docs/"));

  it("link to files and headings that exist", () => {
    let seen = 0;
    for (const document of DOCUMENTS) {
      for (const { text, path, anchor } of linksOf(document)) {
        assert.equal(problemWithLink(path, anchor), undefined, `${document.name}: ${text}`);
        seen++;
      }
    }
    assert.ok(seen > 60, `only ${seen} links`);
    assert.ok(problemWithLink("docs/none.md"));
    assert.ok(problemWithLink("README.md", "none"));
  });

  it("are in the package, with what they link to", () => {
    const { files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { files: string[] };
    const isPacked = (path: string): boolean =>
      files.some((file) => path === file || path.startsWith(`${file}/`));
    for (const document of DOCUMENTS) {
      assert.ok(isPacked(document.name), document.name);
      for (const { path } of linksOf(document)) assert.ok(isPacked(path), `${document.name}: ${path}`);
    }
  });

  it("are all found from the README and from the index", () => {
    for (const index of ["README.md", "docs/README.md"]) {
      const linked = linksOf(documentOf(index)).map(({ path }) => path);
      for (const { name } of pages) {
        if (name !== "docs/README.md") assert.ok(linked.includes(name), `${index} does not lead to ${name}`);
      }
    }
  });

  it("begin with who they are for, and the README fits on a screen and a half", () => {
    assert.ok(pages.length >= 6);
    for (const { name, text } of pages) assert.match(text, /^# .+\n\nFor /, name);
    assert.ok(documentOf("README.md").text.split("\n").length <= 151);
  });

  it("hold scripts that a shell can read, and commands with options that exist", () => {
    const scripts: string[] = [];
    let commands = 0;
    for (const { name, blocks } of DOCUMENTS) {
      for (const { line, language, code } of blocks) {
        if (language !== "sh") continue;
        // One shell reads all scripts; the function names in its messages locate a faulty one.
        scripts.push(`f_${name.replace(/\W/g, "_")}_${line}() {\n${code}}\n`);
        for (const [program, ...words] of commandsOf(code)) {
          const isRun = program === "node" && words[0] === "bin/orrery.mjs";
          if (program !== "orrery" && !isRun) continue;
          const args = isRun ? words.slice(1) : words;
          commands++;
          if (args[0]!.startsWith("-")) {
            assert.match(args.join(" "), /^--(help|version)$/);
            continue;
          }
          const row = PROGRAM.commands.find((one) => `${args.join(" ")} `.startsWith(`${one.name} `));
          assert.ok(row, `${name}:${line}: ${args.join(" ")}`);
          const rest = args.slice(row.name.split(" ").length);
          if (rest.includes("--help")) continue;
          assert.doesNotThrow(() => optionsOf(row.name, rest), `${name}:${line}`);
        }
      }
    }
    assert.ok(commands > 20, `only ${commands} commands`);
    const { status, stderr } = spawnSync("bash", ["-n"], { input: scripts.join(""), encoding: "utf8" });
    assert.equal(status, 0, stderr);
  });
});

describe("what the prose repeats of the code", () => {
  it("are the fields of a found world, and of each file of a snapshot", () => {
    const found = RESOURCES.foundWorld.fields.map(({ name }) => `\`${name}\``);
    const listed = `${found.slice(0, -1).join(", ")} and ${found.at(-1)}`;
    assert.ok(documentOf("docs/http.md").text.includes(`Items of \`/worlds/search\` have ${listed};`));
    const example = documentOf("docs/snapshots.md").blocks.find(({ language }) => language === "json")!;
    const rows = example.code.trim().split("\n");
    assert.equal(rows.length, TABLES.length);
    for (const [at, table] of TABLES.entries()) {
      const fields = FIELDS[table].map(({ name }) => name);
      assert.deepEqual(Object.keys(JSON.parse(rows[at]!)), fields, `docs/snapshots.md: the row of ${table}`);
    }
  });
});

/** Flags of every command, of npm and node, and of the benches. */
const OTHER_FLAGS = new Set([
  ..."help version test global omit import smoke guard against load only fresh searches compile".split(" "),
  ..."cpu-prof experimental-vm-modules listen-timeout kill-timeout max-old-space-size".split(" "),
]);

it("flags and variables that a document mentions exist", () => {
  const flags = new Set(PROGRAM.settings.map((setting) => setting.flag));
  const variables = new Set(PROGRAM.settings.map((setting) => variableOf(setting.flag)));
  let seen = 0;
  for (const { name, text } of DOCUMENTS) {
    // Output and flags of other programs: results of the benches, bundlers, services.
    if (name === "bench/RESULTS.md" || name === "docs/runtimes.md") continue;
    const ours = text.replace(/^.*\b(npm|npx|podman|systemctl|kubectl|useradd|install|curl) [^`]*$/gm, "");
    for (const [, flag] of ours.matchAll(/--([a-z][a-z-]+)/g)) {
      if (OTHER_FLAGS.has(flag!)) continue;
      assert.ok(flags.has(flag!) || flags.has(flag!.replace(/^no-/, "")), `${name} mentions --${flag}`);
      seen++;
    }
    for (const [variable] of ours.matchAll(/ORRERY_[A-Z_]+/g)) {
      assert.ok(variables.has(variable), `${name} mentions ${variable}`);
      seen++;
    }
  }
  assert.ok(seen > 40, `only ${seen} mentions found`);
});

it("the OpenAPI document shows replies as the sample's server gives them", async () => {
  assert.equal(readFileSync(EXAMPLES_FILE, "utf8"), await makeExamples(), "run `npm run docs`");
});

describe("examples in doc comments", () => {
  const src = join(ROOT, "src");
  const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.ts$/.test(name),
  );
  const examples = sources.flatMap((name) => {
    const file = join(src, name);
    const found = readFileSync(file, "utf8").matchAll(/@example\n[ *]*```ts\n([\s\S]*?)```/g);
    return Array.from(found, ([, code]) => ({ file, code: code!.replace(/^ *\* ?/gm, "") }));
  });
  assert.ok(examples.length >= 3, `${examples.length} examples`);
  const made = join(ROOT, ".tests");
  let folder = "";

  /** Resolves each example as a file beside the file of its comment. */
  const places: Plugin = {
    name: "examples",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^example:/ }, ({ path }) => ({ path, namespace: "example" }));
      onResolve({ filter: /^orrery$/ }, () => ({ path: LIBRARY.href, external: true }));
      onResolve({ filter: /^orrery\/client$/ }, () => ({ path: CLIENT.href, external: true }));
      onLoad({ filter: /.*/, namespace: "example" }, ({ path }) => {
        const { file, code } = examples[Number(path.slice("example:".length))]!;
        return { contents: code, loader: "ts", resolveDir: dirname(file) };
      });
    },
  };

  before(async () => {
    // Within the tree, so that imports of packages resolve.
    mkdirSync(made, { recursive: true });
    folder = mkdtempSync(join(made, "examples-"));
    await build({
      entryPoints: examples.map((_, at) => ({ in: `example:${at}`, out: String(at) })),
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      format: "esm",
      platform: "node",
      packages: "external",
      logLevel: "warning",
      plugins: [places],
    });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [at, { file }] of examples.entries())
    it(file.slice(ROOT.length), () => import(pathToFileURL(join(folder, `${at}.mjs`)).href));
});
