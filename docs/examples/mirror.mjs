// A read replica of another server of this API, with nothing but a token of that server. Set by the environment:
//
//   FROM        address of the other server, such as https://api.example.com
//   TOKEN_FILE  file with a token of that server: a CLI token, or an API key with all three scopes
//   KEYS        keys file of this replica; `orrery keys create --keys keys.json` makes one
//   INTERVAL    seconds between two rounds; 300 when absent
//   HOST, PORT  address of this replica; 127.0.0.1 and 8787 when absent
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { openOrrery } from "orrery";
import { createClient, SnapshotChangedError } from "orrery/client";

const { FROM, TOKEN_FILE, KEYS, INTERVAL = "300", HOST = "127.0.0.1", PORT = "8787" } = process.env;

/** The generation that all replies of a round must be of: the ETag of its first one. */
let ifMatch;
const client = createClient({
  baseUrl: FROM,
  token: readFileSync(TOKEN_FILE, "utf8").trim(),
  // Waits for the limit, however long that takes.
  maxWaitMs: Number.POSITIVE_INFINITY,
  onResponse({ status, headers }) {
    if (status === 200) ifMatch ??= headers.get("etag");
  },
});

/** One row; undefined where this generation has none. */
async function rowOf(get, id) {
  try {
    return (await get(id, { ifMatch })).data;
  } catch (error) {
    if (error.status !== 404) throw error;
    // A 404 names no generation. If the data have changed, this request fails.
    await client.stats({ ifMatch });
  }
}

/** All rows of one generation, with the fields that the API leaves out: it shows visible rows alone. */
async function collect() {
  const rows = { users: [], worlds: [], worldStats: [], instances: [] };
  for await (const world of client.worlds.list.all({ ifMatch }))
    rows.worlds.push({ ...world, status: "ACTIVE" });
  for await (const instance of client.instances.list.all({ ifMatch }))
    rows.instances.push({ ...instance, isPublic: true, isActive: true });
  for (const { id } of rows.worlds) {
    const stats = await rowOf(client.worlds.stats, id);
    if (!stats) throw new Error(`World ${id} is listed, but has no statistics`);
    rows.worldStats.push(stats);
  }
  for (const id of new Set(rows.worlds.map(({ ownerId }) => ownerId))) {
    const owner = await rowOf(client.users.get, id);
    if (owner) rows.users.push(owner);
  }
  return rows;
}

// A replica follows its source, also to much less data.
const orrery = await openOrrery({ rows: {}, keys: KEYS, allowShrink: true });
const server = createServer({ requireHostHeader: false }, orrery.handle);
let served;
for (;;) {
  try {
    ifMatch = undefined;
    await client.stats();
    if (!ifMatch) throw new Error("The server names no generation: its replies have no ETag");
    if (ifMatch !== served) {
      const { snapshot, problems } = await orrery.setRows(await collect());
      if (snapshot === "refused") throw new Error(problems.join("; "));
      served = ifMatch;
      console.log(`serves ${served}`);
    }
    if (!server.listening) server.listen(Number(PORT), HOST);
  } catch (error) {
    console.error(error.message);
    // The rows before are served until others are complete; data that changed meanwhile are collected anew at once.
    if (error instanceof SnapshotChangedError) continue;
  }
  await pause(Number(INTERVAL) * 1000);
}
