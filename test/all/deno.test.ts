/** The server on Deno does everything that it does on Node. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { start, until } from "../support/process.ts";
import { describeSameAsOnNode } from "../support/runtime-suite.ts";
import { findRuntime } from "../support/runtimes.ts";

const { runtime, missing } = findRuntime("deno");

describeSameAsOnNode("Deno", runtime, missing);

it("the library answers Deno's own server, without its notice about signals", {
  skip: missing,
}, async (t) => {
  // Without the flag that hides notices.
  const server = start(["run", "--allow-all", "test/support/deno-serve.mjs"], {}, [runtime[0]]);
  t.after(server.kill);
  const port = await until(async () => /^\d+$/m.exec(server.stdout())?.[0], "Deno listens");
  const ask = (): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/api/public/v1/stats`, {
      headers: { authorization: "Bearer svcx_secret" },
    });
  for (let asked = 0; asked < 3; asked++) assert.equal((await ask()).status, 200);
  server.child.kill("SIGTERM");
  await server.ended;
  assert.doesNotMatch(server.stdout() + server.stderr(), /signal/);
});
