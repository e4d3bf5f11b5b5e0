/** Sixteen clients that search as fast as they can, each for something new. */

import { openSync, readSync } from "node:fs";
import { Agent, get } from "node:http";
import { join } from "node:path";

const [url, token, snapshot] = process.argv.slice(2);
const CLIENTS = 16;

/** Names out of the first megabytes of the users. */
function someNames(): string[] {
  const buffer = Buffer.alloc(8_000_000);
  const length = readSync(openSync(join(snapshot!, "users.ndjson"), "r"), buffer);
  const lines = buffer.toString("utf8", 0, length).split("\n").slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { displayName: string }).displayName);
}

const names = someNames();
const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
let count = 0;

/** A part of a name: mostly of three to eight characters, now and then of one or two. */
function nextQuery(): string {
  const name = names[Math.floor(Math.random() * names.length)]!;
  const length = Math.random() < 0.1 ? 1 + Math.floor(Math.random() * 2) : 3 + Math.floor(Math.random() * 6);
  const from = Math.floor(Math.random() * Math.max(1, name.length - length));
  return name.slice(from, from + length).toWellFormed();
}

function searchOnce(): Promise<void> {
  const table = Math.random() < 0.5 ? "users" : "worlds";
  const target = `${url}/${table}/search?q=${encodeURIComponent(nextQuery())}`;
  return new Promise((resolve, reject) => {
    get(target, { agent, headers: { Authorization: `Bearer ${token}` } }, (response) => {
      // Nothing left after trimming is a 400, as it should be.
      if (response.statusCode !== 200 && response.statusCode !== 400)
        reject(new Error(String(response.statusCode)));
      response.resume().on("end", () => {
        count++;
        resolve();
      });
    }).on("error", reject);
  });
}

for (let client = 0; client < CLIENTS; client++) {
  void (async () => {
    for (;;) await searchOnce();
  })();
}
process.on("message", () => process.send!({ count }));
process.send!({ searching: true });
