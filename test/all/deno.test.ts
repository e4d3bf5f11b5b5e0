/** The server on Deno: what it does as on Node, and the differences that docs/runtimes.md lists. */

import { findRuntime } from "../support/other-runtime.ts";
import { within } from "../support/patience.ts";
import { dial } from "../support/raw.ts";
import {
  askOne,
  CLI,
  describeDifferences,
  describeSameAsOnNode,
  good,
  isStats,
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

  async "thousands of requests in one go"({ port }) {
    const wire = await dial(port);
    wire.socket.pause();
    for (let at = 0; at < 100 && !wire.socket.destroyed; at++) {
      await Promise.race([wire.send(good(PAGE).repeat(1000)), wire.gone]);
    }
    await within(wire.gone, "the connection to be cut");
    isStats(await askOne(port, good(STATS)));
  },
});
