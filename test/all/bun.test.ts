/** The server on Bun: a stop, and threads. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { dial, header, requestHead } from "../support/raw.ts";
import { makeSmall } from "../support/small.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const local = join(ROOT, "node_modules/.bin/bun");
const bun = existsSync(local) ? local : "bun";
const skip = spawnSync(bun, ["--version"]).status === 0 ? false : "bun is not installed";

const small = await makeSmall();
after(small.remove);

function serveOnBun(...more: string[]) {
  const child = spawn(bun, ["src/main.ts", "serve", ...small.settings, ...more], { cwd: ROOT });
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
    const request = requestHead("/api/public/v1/worlds", [`Authorization: Bearer ${small.token}`]);
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
