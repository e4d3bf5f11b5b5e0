/**
 * The examples in the documents, run in order, page by page, each page in a folder of its own that looks like a checkout;
 * and the types of all TypeScript examples.
 */

import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { transformSync } from "esbuild";
import { type Block, DOCUMENTS } from "../support/documents.ts";
import { temporaryFolder } from "../support/folders.ts";
import { freePort } from "../support/ports.ts";
import { CLIENT, LIBRARY, LIBRARY_RUNNER, PROGRAM, ROOT, runTsc } from "../support/program.ts";

/** Runs a program to its end; rejects with its output when it fails. */
const runFile = promisify(execFile);

/** Shell functions in place of the programs that the examples call. */
const SHELL = `set -eo pipefail
node() { $EXEC "${process.execPath}" "$@"; }
orrery() { $EXEC "${process.execPath}" ${PROGRAM.map((word) => `'${word}'`).join(" ")} "$@"; }
`;

for (const { name, blocks } of DOCUMENTS) {
  const marked = blocks.filter(({ mark }) => mark !== undefined);
  if (marked.length === 0) continue;

  describe(`the examples of ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "orrery-examples-"));
    const children: ReturnType<typeof spawn>[] = [];
    let port = "";

    before(async () => {
      for (const entry of ["bin", "data", "dist", "docs", "node_modules", "package.json", "src"]) {
        symlinkSync(join(ROOT, entry), join(folder, entry));
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

    const placed = ({ code }: Block): string => code.replaceAll("8787", port);

    async function runShell(block: Block): Promise<void> {
      const env = { ...process.env, EXEC: "", ORRERY_PORT: port };
      const { stdout } = await runFile("bash", ["-c", SHELL + placed(block)], { cwd: folder, env });
      if (!block.code.includes("curl")) return;
      const { data } = JSON.parse(stdout) as { data: unknown };
      assert.ok(data, stdout);
      if (Array.isArray(data)) assert.ok(data.length > 0, "nothing found");
    }

    async function startServer(block: Block): Promise<void> {
      const child = spawn("bash", ["-c", SHELL + placed(block)], {
        cwd: folder,
        env: { ...process.env, EXEC: "exec", ORRERY_PORT: port },
        stdio: ["ignore", "pipe", "ignore"],
      });
      children.push(child);
      const ended = once(child, "exit").then(() => assert.fail("it ended before it listened"));
      const [first] = (await Promise.race([once(child.stdout!, "data"), ended])) as [Buffer];
      ended.catch(() => {});
      assert.match(
        String(first),
        new RegExp(`^(orrery listening on http://127\\.0\\.0\\.1:${port}/|serves ")`),
      );
    }

    async function runTypeScript(block: Block): Promise<void> {
      const file = join(folder, `example-${block.line}.mjs`);
      const { code } = transformSync(placed(block), { loader: "ts" });
      const from = (_: string, client: unknown): string => `from "${client ? CLIENT : LIBRARY}"`;
      writeFileSync(file, code.replace(/from "orrery(\/client)?"/, from));
      // Without a build, the sources need a runner of TypeScript.
      await runFile(process.execPath, [...LIBRARY_RUNNER, file], { cwd: folder });
      rmSync(file);
    }

    for (const block of marked) {
      it(`line ${block.line}: ${block.code.split("\n")[0]}`, () => {
        if (block.language === "ts") return runTypeScript(block);
        assert.equal(block.language, "sh");
        return block.mark === "background" ? startServer(block) : runShell(block);
      });
    }

    it("leave no secret that others can read or that git would take", () => {
      const made = readdirSync(folder).filter((file) => /key|token/.test(file));
      for (const file of made) {
        assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600, file);
        // Also during a write of a keys file.
        const besides = file === "keys.json" ? ["keys.json.lock", "keys.json.0123456789abcdef.tmp"] : [];
        for (const path of [file, ...besides]) {
          execFileSync("git", ["check-ignore", "--no-index", "-q", path], { cwd: ROOT });
        }
      }
      if (blocks.some(({ code }) => code.includes("token.txt"))) assert.ok(made.includes("token.txt"));
    });
  });
}

describe("TypeScript in the documents", () => {
  const folder = temporaryFolder();

  it("is right to a strict compiler", () => {
    let files = 0;
    for (const { name, blocks } of DOCUMENTS) {
      for (const { line, language, code } of blocks) {
        if (!["ts", "js"].includes(language)) continue;
        writeFileSync(join(folder, `${name.replace(/\W/g, "_")}_${line}.ts`), code);
        files++;
      }
    }
    assert.ok(files >= 5, `only ${files} examples`);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const compilerOptions = {
      paths: { orrery: [join(ROOT, "src/mod.ts")], "orrery/client": [join(ROOT, "src/client/mod.ts")] },
      typeRoots: [join(ROOT, "node_modules/@types")],
      noEmit: true,
      skipLibCheck: true,
    };
    const config = { extends: join(ROOT, "tsconfig.json"), compilerOptions, include: [join(folder, "*.ts")] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    assert.equal(runTsc(["-p", folder]), "");
  });
});
