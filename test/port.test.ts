/** Who may listen on a port beside another server. */

import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { after, describe, it } from "node:test";
import { whileAlone, whyNoSharing } from "../src/http/port.ts";
import { startServer } from "../src/server/server.ts";
import { cleanUp, testOptions } from "./support/http-server.ts";
import { run } from "./support/process.ts";

after(cleanUp);

/** Starts a server and stops it when the test is over. */
async function started(
  t: { after: (end: () => Promise<void>) => void },
  options: { servingThreads?: number; sharePort?: boolean; port?: number },
) {
  const server = await startServer(await testOptions({ ...options, threads: true }, []));
  t.after(() => server.stop("test"));
  return Number(new URL(server.url).port);
}

const IN_USE = { code: "EADDRINUSE", syscall: "listen" };
const why = whyNoSharing();

describe("a port that is shared", { skip: why }, () => {
  it("is shared by no second server that does not ask for it, however many threads both have", async (t) => {
    const port = await started(t, { servingThreads: 2 });
    for (const servingThreads of [1, 2]) {
      const options = await testOptions({ servingThreads, port, threads: true }, []);
      await assert.rejects(startServer(options), IN_USE);
    }
  });

  it("is not shared with a server that has it for itself", async (t) => {
    const port = await started(t, {});
    const options = await testOptions({ servingThreads: 2, port, sharePort: true, threads: true }, []);
    await assert.rejects(startServer(options), IN_USE);
  });

  it("is shared by a second server that asks for it", async (t) => {
    const port = await started(t, { servingThreads: 2 });
    assert.equal(await started(t, { port, sharePort: true }), port);
    assert.equal(await started(t, { port, sharePort: true, servingThreads: 2 }), port);
  });

  it("goes to one of two servers that start at the same moment", async (t) => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
    const { port } = free.address() as { port: number };
    await new Promise((resolve) => free.close(resolve));
    const options = await testOptions({ servingThreads: 2, port, threads: true }, []);
    const outcomes = await Promise.allSettled([startServer(options), startServer(options)]);
    const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    for (const server of won) t.after(() => server.stop("test"));
    assert.equal(won.length, 1);
    const lost = outcomes.find((outcome) => outcome.status === "rejected");
    assert.equal((lost?.reason as NodeJS.ErrnoException).code, "EADDRINUSE");
  });
});

it("trying a port leaves nothing behind: it is free for whoever shares it", async () => {
  const held = createServer();
  await new Promise<void>((resolve) => held.listen(0, "127.0.0.1", resolve));
  const { port } = held.address() as { port: number };
  const listenThere = (): Promise<{ address: string; family: string; port: number }> =>
    new Promise((resolve, reject) => {
      const server = createServer().once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        const address = server.address() as { address: string; family: string; port: number };
        server.close(() => resolve(address));
      });
    });
  await assert.rejects(whileAlone("127.0.0.1", port, listenThere), IN_USE);
  await new Promise((resolve) => held.close(resolve));
  // One at a time: none finds the port in use.
  const all = await Promise.all([1, 2, 3].map(() => whileAlone("127.0.0.1", port, listenThere)));
  for (const address of all) assert.equal(address.port, port);
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => reject(new Error("somebody listens")));
    socket.once("error", () => resolve());
  });
});

it("without servers that can share a port --share-port is a wrong call", {
  skip: why === undefined,
}, async () => {
  const { status, stderr } = await run(["serve", "--snapshot", "x", "--keys", "none.json", "--share-port"]);
  assert.equal(status, 2);
  assert.match(stderr, /--share-port: requires Node 22\.12 or newer/);
});
