/**
 * Sixteen clients that ask as fast as they can: for a new search each time, or for pages of 50 anywhere in the list.
 */

import { openSync, readSync } from "node:fs";
import { Agent, get } from "node:http";
import { join } from "node:path";
import { fold } from "../../src/search/fold.ts";

const [url, token, snapshot, flood = "searches"] = process.argv.slice(2);
const CLIENTS = 16;

/** Names from the first megabytes of the users. */
function someNames(): string[] {
  const buffer = Buffer.alloc(8_000_000);
  const length = readSync(openSync(join(snapshot!, "users.ndjson"), "r"), buffer);
  const lines = buffer.toString("utf8", 0, length).split("\n").slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { displayName: string }).displayName);
}

const names = someNames();
const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
let count = 0;

/** A substring of a name: mostly three to eight characters, sometimes one or two. */
function nextQuery(): string {
  const name = names[Math.floor(Math.random() * names.length)]!;
  const length = Math.random() < 0.1 ? 1 + Math.floor(Math.random() * 2) : 3 + Math.floor(Math.random() * 6);
  const from = Math.floor(Math.random() * Math.max(1, name.length - length));
  const piece = name.slice(from, from + length).toWellFormed();
  // A combining mark alone is no query.
  return fold(piece).trim() === "" ? "a" : piece;
}

function nextSearch(): string {
  const table = Math.random() < 0.5 ? "users" : "worlds";
  return `/${table}/search?q=${encodeURIComponent(nextQuery())}`;
}

async function countWorlds(): Promise<number> {
  const reply = await fetch(`${url}/worlds?limit=1`, { headers: { Authorization: `Bearer ${token}` } });
  return ((await reply.json()) as { pagination: { total: number } }).pagination.total;
}

const worlds = await countWorlds();

function nextPage(): string {
  return `/worlds?limit=50&offset=${Math.floor(Math.random() * Math.max(1, worlds - 50))}`;
}

function askOnce(): Promise<void> {
  const target = url + (flood === "pages" ? nextPage() : nextSearch());
  return new Promise((resolve, reject) => {
    get(target, { agent, headers: { Authorization: `Bearer ${token}` } }, (response) => {
      // A query that is empty after trimming rightly gets a 400.
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
    for (;;) await askOnce();
  })();
}
process.on("message", () => process.send!({ count }));
process.send!({ searching: true });
