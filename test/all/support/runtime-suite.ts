/** What a server on another runtime must do as on Node. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { BASE, cleanUp, FEW, TOKENS, testOptions } from "../../support/http-server.ts";
import { type Command, residentBytes, type Served, serve, until } from "../../support/process.ts";
import { ROOT } from "../../support/program.ts";
import { askOnce, dial, requestHead, type Wire } from "../../support/raw.ts";
import { PAGE, SEARCH, STATS } from "../../support/requests.ts";
import { assertPassesOn } from "../../support/runtimes.ts";

const CLI = `Authorization: Bearer ${TOKENS.cli}`;

/** Tests on the wire, and the least number in each. Tests that look into a server use one on Node. */
const WIRE_TESTS = {
  "test/http.test.ts": 260,
  "test/all/http-connections.test.ts": 15,
  "test/all/http-stop.test.ts": 4,
  "test/all/pages-http.test.ts": 2,
};

/** The tests of processes, likewise. */
const PROCESS_TESTS = {
  "test/conformance.test.ts": 20,
  "test/all/process.test.ts": 13,
};

export function describeSameAsOnNode(name: string, runtime: Command, missing: string | false): void {
  describe(`on ${name}, as on Node`, { skip: missing }, () => {
    const program: Command = [...runtime, join(ROOT, "dist/main.js")];
    let server: Served;

    async function open(...more: string[]): Promise<Served> {
      const { settings } = await testOptions({}, []);
      const args = ["--rate-window", "31536000", ...more];
      return serve(settings.snapshot, settings.keys, args, {}, program);
    }

    async function isServed(): Promise<void> {
      assert.equal((await askOnce(server.port, STATS, [CLI])).status, 200);
    }

    before(async () => {
      server = await open();
    });
    after(async () => {
      await server.stop();
      await cleanUp();
    });

    test("two serving threads: each request is counted once, and a stop ends them", async () => {
      const threads = await open("--threads", "2");
      const few = [`Authorization: Bearer ${TOKENS.few}`];
      const all = await Promise.all(Array.from({ length: 40 }, () => askOnce(threads.port, SEARCH, few)));
      assert.equal(all.filter(({ status }) => status === 200).length, FEW);
      await threads.stop();
    });

    test("floods without a token from peers that read nothing harm nobody", async () => {
      const deaf: Wire[] = [];
      for (let at = 0; at < 8; at++) {
        const wire = await dial(server.port);
        wire.socket.pause();
        void wire.send(requestHead(SEARCH).repeat(20_000));
        void wire.send(requestHead(PAGE, [CLI]).repeat(2000));
        deaf.push(wire);
      }
      const held = residentBytes(server);
      for (let at = 0; at < 50; at++) await isServed();
      assert.ok(residentBytes(server) - held < 300_000_000, `${residentBytes(server)} bytes, before ${held}`);
      for (const wire of deaf) wire.destroy();
      await isServed();
    });

    test("peers that hang up while they wait harm nobody", async () => {
      for (let round = 0; round < 5; round++) {
        const wires = await Promise.all(Array.from({ length: 50 }, () => dial(server.port)));
        const search = `${BASE}/worlds/search?q=${round}%20far%20and&offset=${round}`;
        for (const wire of wires) {
          void wire.send(requestHead(search, [CLI]) + requestHead(PAGE, [CLI]).slice(0, 40));
          wire.socket.resetAndDestroy();
        }
        await Promise.all(wires.map(({ gone }) => gone));
      }
      await isServed();
      // Until the runtime notices that the last clients left, their searches may fill the queue.
      await until(
        async () => (await askOnce(server.port, `${BASE}/users/search?q=user`, [CLI])).status === 200,
        "a search to be answered",
      );
    });

    for (const [tests, variables] of [
      [WIRE_TESTS, { ORRERY_TEST_RUNTIME: runtime.join(" ") }],
      [PROCESS_TESTS, { ORRERY_TEST_PROGRAM: program.join(" ") }],
    ] as const)
      for (const [file, atLeast] of Object.entries(tests))
        test(file, () => assertPassesOn({ path: process.execPath }, file, { variables, atLeast }));
  });
}
