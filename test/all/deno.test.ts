/** The server on Deno does everything that it does on Node. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { start, until } from "../support/process.ts";
import { findRuntime } from "../support/runtimes.ts";
import { describeSameAsOnNode } from "./support/runtime-suite.ts";

const { runtime, missing } = findRuntime("deno");

describeSameAsOnNode("Deno", runtime, missing);

/** The output of a server of Deno's own that was asked for single rows and short searches. */
async function saidByServer(t: TestContext, ...args: string[]): Promise<string> {
  // Without the flag that hides notices.
  const server = start(["run", "--allow-all", "test/all/support/deno-serve.mjs", ...args], {}, [runtime[0]]);
  t.after(server.kill);
  const port = await until(async () => /^\d+$/m.exec(server.stdout())?.[0], "Deno listens");
  for (const path of ["stats", "users/search?q=a", "worlds/search?q=the", "stats"]) {
    const reply = await fetch(`http://127.0.0.1:${port}/api/public/v1/${path}`, {
      headers: { authorization: "Bearer svcx_secret" },
    });
    assert.equal(reply.status, 200);
    await reply.text();
  }
  server.child.kill("SIGTERM");
  await server.ended;
  return server.stdout() + server.stderr();
}

it("the library answers Deno's own server, without its notice about signals", {
  skip: missing,
}, async (t) => {
  assert.match(await saidByServer(t, "reads"), /signal/, "Deno prints no notice any more");
  assert.doesNotMatch(await saidByServer(t), /signal/);
});
