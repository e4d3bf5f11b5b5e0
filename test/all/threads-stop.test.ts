/** Stops of a server with several threads, under clients that come back at once; on a Node whose servers can share a port. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { PROGRAM } from "../support/program.ts";
import { comeBack } from "../support/returning.ts";
import { findNode } from "../support/runtimes.ts";
import { makeSmall } from "../support/small.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const STOPS = 4;

const node = findNode(24);
const small = await makeSmall();
after(small.remove);

const skip = "missing" in node && node.missing;

describe("a stop of threads that serve", { skip }, () => {
  for (const threads of [2, 4]) {
    it(`loses no request of clients that come back at once: ${threads} threads, ${STOPS} stops`, async () => {
      for (let stop = 0; stop < STOPS; stop++) {
        const command = [...PROGRAM, "serve", ...small.settings, "--threads", String(threads)];
        const child = spawn((node as { path: string }).path, command, {
          cwd: ROOT,
          stdio: ["ignore", "pipe", "inherit"],
        });
        const ended = once(child, "exit");
        const [line] = (await Promise.race([
          once(createInterface({ input: child.stdout }), "line"),
          ended,
        ])) as [unknown];
        const port = Number(/:(\d+)\//.exec(String(line))?.[1]);
        const clients = comeBack(port, small.token, 32);
        await new Promise((resolve) => setTimeout(resolve, 200));
        child.kill("SIGTERM");
        assert.deepEqual(await ended, [0, null]);
        const { answered, causes } = await clients.stop();
        assert.deepEqual(
          causes,
          [],
          `${causes.length} of ${answered + causes.length} were lost in stop ${stop}`,
        );
        assert.ok(answered > 32, `${answered} answers`);
      }
    });
  }
});
