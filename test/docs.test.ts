/** The documents say what is true: tables match the code, examples run. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { COMMANDS } from "../src/cli/commands.ts";
import { helpFor, overview } from "../src/cli/help.ts";
import { createOpenApi } from "../src/derive/openapi.ts";
import { FAULTS } from "../src/fault.ts";
import { ROUTES } from "../src/routes.ts";
import { SETTINGS, settingsOf, variableOf } from "../src/settings.ts";
import { freePort } from "./support/free-port.ts";
import { README, withSections } from "./tools/docs.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(README, "utf8");
const documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map((name) => ({
  name,
  text: readFileSync(join(ROOT, name), "utf8"),
}));

function sources(folder = join(ROOT, "src")): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? sources(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

describe("the README's tables", () => {
  it("are what the code makes", () => {
    assert.equal(withSections(readme), readme, "run `npm run docs`");
  });

  it("name every route, error and setting of the server, and no other", () => {
    const rows = readme.split("\n").filter((line) => line.startsWith("| "));
    const paths = rows.flatMap((row) => /^\| `(\/[^`]*)` /.exec(row)?.[1] ?? []);
    assert.deepEqual(
      paths,
      ROUTES.map((route) => route.path),
    );
    assert.equal(paths.length, 12);
    const messages = rows.flatMap((row) => /^\| \d{3} \| `([^`]*)` /.exec(row)?.[1] ?? []);
    assert.deepEqual(
      messages,
      Object.values(FAULTS).map((fault) => fault.message),
    );
    const flags = rows.flatMap((row) => /^\| `--([a-z-]+)[^`]*` \| `ORRERY/.exec(row)?.[1] ?? []);
    assert.deepEqual(
      flags,
      settingsOf("serve").map((setting) => setting.flag),
    );
  });
});

describe("flags and variables", () => {
  it("mentioned in a document exist", () => {
    const flags = new Set(SETTINGS.map((setting) => setting.flag));
    const variables = new Set(SETTINGS.map((setting) => variableOf(setting.flag)));
    let seen = 0;
    for (const { name, text } of documents) {
      const ours = text.replace(/```sh\npsql[\s\S]*?```/g, "");
      for (const [, flag] of ours.matchAll(/--([a-z][a-z-]+)/g)) {
        // Of every command, of npm and node, of the benches.
        if (["help", "version", "omit", "import", "smoke", "guard", "against"].includes(flag!)) continue;
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

  it("are in the help of their commands", () => {
    for (const row of COMMANDS) {
      assert.ok(overview().includes(row.name), row.name);
      for (const setting of settingsOf(row.name)) {
        assert.ok(helpFor(row).includes(`--${setting.flag}`), `${row.name} --${setting.flag}`);
      }
    }
    for (const setting of SETTINGS) assert.ok(setting.commands.length > 0, setting.flag);
  });
});

describe("the OpenAPI document", () => {
  const text = JSON.stringify(createOpenApi(ROUTES));

  it("has every route, parameter and error", () => {
    const document = JSON.parse(text) as {
      paths: Record<string, { get: { parameters: { name: string; in: string }[]; responses: object } }>;
    };
    assert.equal(Object.keys(document.paths).length, 12);
    for (const route of ROUTES) {
      const operation = document.paths[route.path.replace(":id", "{id}")]!.get;
      const query = operation.parameters.filter((parameter) => parameter.in === "query");
      assert.deepEqual(
        query.map((parameter) => parameter.name),
        route.parameters,
      );
      const told = JSON.stringify(operation.responses);
      const faults = [...route.faults, ...(route.scope ? (["rateLimited", "snapshotChanged"] as const) : [])];
      for (const name of faults) {
        assert.ok(told.includes(JSON.stringify(FAULTS[name].message).slice(1, -1)), `${route.path} ${name}`);
      }
    }
  });

  it("refers only to schemas that it has", () => {
    const { schemas } = (JSON.parse(text) as { components: { schemas: object } }).components;
    const refs = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]!);
    assert.ok(refs.length > 12);
    for (const ref of refs) assert.ok(ref in schemas, ref);
  });
});

/** Runs a TypeScript example, with its imports pointed at this checkout. */
function runExample(code: string, from: string): void {
  const folder = mkdtempSync(join(tmpdir(), "orrery-example-"));
  try {
    const file = join(folder, "example.ts");
    const located = code.replace(/from "([^"]+)"/g, (whole, specifier: string) => {
      if (specifier === "orrery") return `from "${pathToFileURL(join(ROOT, "src/mod.ts"))}"`;
      if (specifier.startsWith(".")) return `from "${pathToFileURL(resolve(dirname(from), specifier))}"`;
      return whole;
    });
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(file, located);
    const ran = spawnSync(process.execPath, ["--import", import.meta.resolve("tsx"), file], {
      cwd: ROOT,
      encoding: "utf8",
    });
    assert.equal(ran.status, 0, `${from}:\n${ran.stderr}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("examples in doc comments", { concurrency: 2 }, () => {
  const examples = sources().flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/@example\n[ *]*```ts\n([\s\S]*?)```/g)].map((match) => ({
      file,
      code: match[1]!.replace(/^ *\* ?/gm, ""),
    })),
  );
  assert.ok(examples.length >= 3, `${examples.length} examples`);
  for (const { file, code } of examples) it(file.slice(ROOT.length), () => runExample(code, file));
});

describe("the README's examples", () => {
  const folder = mkdtempSync(join(tmpdir(), "orrery-readme-"));
  const children: ReturnType<typeof spawn>[] = [];
  let port = "";

  before(async () => {
    for (const name of ["bin", "src", "data", "node_modules", "package.json"]) {
      symlinkSync(join(ROOT, name), join(folder, name));
    }
    port = String(await freePort());
  });

  after(async () => {
    for (const child of children) {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    }
    rmSync(folder, { recursive: true });
  });

  const blocks = [...readme.matchAll(/<!-- (run|background) -->\n\n```(sh|ts)\n([\s\S]*?)```/g)];
  assert.equal(blocks.length, 6);

  for (const [, how, language, code] of blocks) {
    it(code!.split("\n")[0]!, async () => {
      if (language === "ts") {
        runExample(code!, join(ROOT, "README.md"));
        return;
      }
      const script = `set -eo pipefail; ${code!.replaceAll("8787", port)}`;
      const shell = `node() { ${how === "background" ? "exec " : ""}"${process.execPath}" "$@"; }\n${script}`;
      const environment = { ...process.env, ORRERY_PORT: port };
      if (how === "background") {
        const child = spawn("bash", ["-c", shell], {
          cwd: folder,
          env: environment,
          stdio: ["ignore", "pipe", "ignore"],
        });
        children.push(child);
        const [first] = (await once(child.stdout!, "data")) as [Buffer];
        assert.match(String(first), /^orrery listening on http:/);
        return;
      }
      const ran = spawnSync("bash", ["-c", shell], { cwd: folder, env: environment, encoding: "utf8" });
      assert.equal(ran.status, 0, ran.stderr);
      if (code!.startsWith("curl")) {
        const body = JSON.parse(ran.stdout) as { data: unknown[]; period: string };
        assert.equal(body.data.length, 3);
        assert.equal(body.period, "week");
      }
    });
  }

  it("leave no secret that others can read or that git would take", () => {
    const made = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
    assert.deepEqual(made.map(({ name }) => name).sort(), ["keys.json", "token.txt"]);
    for (const { name } of made) {
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
      // Also while a keys file is being written.
      for (const path of [name, `${name}.lock`, `${name}.0123456789abcdef.tmp`].slice(
        0,
        name === "keys.json" ? 3 : 1,
      )) {
        const { status } = spawnSync("git", ["check-ignore", "--no-index", "-q", path], { cwd: ROOT });
        assert.equal(status, 0, `${path} is not ignored`);
      }
    }
  });
});
