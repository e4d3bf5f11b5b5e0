/** Stops of a server with several threads, under clients that come back at once; on a Node whose servers can share a port. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { killAll, served, start } from "../support/process.ts";
import { comeBack } from "../support/returning.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";

const STOPS = 4;

const node = findNode(24);
const keys = writeKeys(join(temporaryFolder({ after }), "keys.json"), keyRecord(TOKEN, { limit: 1e9 }));
after(killAll);

describe("a stop of threads that serve", { skip: lacking(node) }, () => {
  for (const threads of [2, 4]) {
    it(`loses no request of clients that come back at once: ${threads} threads, ${STOPS} stops`, async () => {
      for (let stop = 0; stop < STOPS; stop++) {
        const settings = ["serve", "--snapshot", "data/sample", "--keys", keys, "--port", "0"];
        const server = await served(start([...settings, "--threads", `${threads}`], {}, programOn(node)));
        const clients = comeBack(server.port, TOKEN, 32);
        await new Promise((resolve) => setTimeout(resolve, 200));
        await server.stop();
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
