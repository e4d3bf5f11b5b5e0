/** The server on Deno: what it does as on Node, and the differences that docs/runtimes.md lists. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { findRuntime, type Runtime, stopOther } from "../support/other-runtime.ts";
import { within } from "../support/patience.ts";
import { until } from "../support/process.ts";
import { dial } from "../support/raw.ts";
import {
  askOne,
  CLI,
  describeDifferences,
  describeSameAsOnNode,
  good,
  isStats,
  openOn,
  PAGE,
  STATS,
} from "../support/runtime-suite.ts";

const { runtime, missing } = findRuntime("deno");

describeSameAsOnNode("Deno", runtime, missing);

describeDifferences("Deno", runtime, missing, {
  async "half a request"({ port }) {
    const half = await dial(port);
    await half.send(`GET ${STATS} HTTP/1.1\r\nHost: a\r\n${CLI}\r\n`);
    half.end();
    await half.closed();
  },

  async "more connections than descriptors"() {
    const few: Runtime = ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh", ...runtime];
    const { port, server } = await openOn(few);
    const stands = await dial(port);
    let refused = 0;
    const crowd = Array.from({ length: 200 }, () =>
      connect(port, "127.0.0.1")
        .on("error", () => {})
        .once("close", () => refused++),
    );
    await until(() => refused > 0, "a connection to be refused");
    void stands.send(good(STATS));
    isStats(await stands.response());
    assert.doesNotMatch(server.stderr(), /connections-refused/);
    for (const socket of crowd) socket.destroy();
    stands.destroy();
    await stopOther(server);
  },

  async "thousands of requests in one go"() {
    const { port, server } = await openOn(runtime, ["--socket-timeout", "2"]);
    const wire = await dial(port);
    wire.socket.pause();
    for (let at = 0; at < 100 && !wire.socket.destroyed; at++) {
      await Promise.race([wire.send(good(PAGE).repeat(1000)), wire.gone]);
    }
    await within(wire.gone, "the connection to be cut");
    isStats(await askOne(port, good(STATS)));
    await stopOther(server);
  },
});
