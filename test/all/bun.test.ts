/** The server on Bun: a stop, and threads. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { addKey } from "../../src/cli/keysfile.ts";
import { generateSnapshot } from "../../src/generate/generate.ts";
import { dial, header, requestHead } from "../support/raw.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const local = join(ROOT, "node_modules/.bin/bun");
const bun = existsSync(local) ? local : "bun";
const skip = spawnSync(bun, ["--version"]).status === 0 ? false : "bun is not installed";

const folder = mkdtempSync(join(tmpdir(), "orrery-bun-"));
const snapshot = join(folder, "snapshot");
const keys = join(folder, "keys.json");
let token = "";

before(async () => {
  await generateSnapshot({ out: snapshot, users: 300, worlds: 120, instances: 40, seed: 3, gzip: false });
  token = await addKey(keys, { name: "test", kind: "cli", prefix: "svcx_" });
});
after(() => rmSync(folder, { recursive: true }));

function serveOnBun(...more: string[]) {
  const settings = ["--snapshot", snapshot, "--keys", keys, "--port", "0", "--log-level", "error"];
  const child = spawn(bun, ["src/main.ts", "serve", ...settings, ...more], { cwd: ROOT });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([status]) => ({ status: status as number, stderr }));
  return { child, ended, line: once(createInterface({ input: child.stdout }), "line") };
}

describe("on Bun", { skip }, () => {
  it("SIGTERM ends with 0, and what still arrives is answered with the end of its connection", async () => {
    const { child, ended, line } = serveOnBun();
    const [text] = (await Promise.race([line, ended])) as [unknown];
    const wire = await dial(Number(/:(\d+)\//.exec(String(text))?.[1]));
    const request = requestHead("/api/public/v1/worlds", [`Authorization: Bearer ${token}`]);
    void wire.send(request);
    assert.equal((await wire.response()).status, 200);
    child.kill("SIGTERM");
    for (let connection = "keep-alive"; connection !== "close"; ) {
      void wire.send(request);
      const response = await wire.response();
      assert.equal(response.status, 200);
      connection = header(response, "Connection") ?? "keep-alive";
    }
    wire.destroy();
    assert.deepEqual(await ended, { status: 0, stderr: "" });
  });

  it("more than one thread is a wrong call, with the reason", async () => {
    const { status, stderr } = await serveOnBun("--threads", "2").ended;
    assert.equal(status, 2);
    assert.match(stderr, /--threads: more than one requires Node, .* Bun/);
  });
});
