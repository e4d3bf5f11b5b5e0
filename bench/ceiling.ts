/**
 * In which form a bare node:http server sends a constant reply the fastest, by
 * its size: what `bench/peers/bare.ts` chooses from.
 *
 *     npx tsx bench/ceiling.ts [--smoke] [--rounds 5] [--seconds 0.5]
 *
 * Requests a second of the server's CPU time of each form; the medians of the
 * rounds' ratios to the first form; and what the server takes by itself.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flawOf, runLoad } from "./http/load.ts";
import { BARE, type Server, startServer } from "./http/servers.ts";
import type { RecordedReply } from "./peers/shared.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const seconds = Number(values.seconds ?? 0.5);
const SIZES = values.smoke ? [500] : [500, 4000, 8000, 12_000, 16_000, 24_000];
const FORMS = ["text", "Buffer"] as const;

/** A reply with the headers of a page, and a body of so many bytes. */
function replyOf(bytes: number): RecordedReply {
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    ETag: '"0123456789abcdef"',
    "Cache-Control": "private, no-cache",
    "Access-Control-Allow-Origin": "*",
    "Content-Length": String(bytes),
    "X-RateLimit-Limit": "1000",
    "X-RateLimit-Remaining": "999",
    "X-RateLimit-Reset": "1800000000",
  };
  return {
    status: 200,
    headers: Object.entries(headers).flat(),
    body: "x".repeat(bytes),
    keepAliveTimeout: 65_000,
  };
}

async function perCpuSecond(server: Server, warmUpRequests: number): Promise<number> {
  const run = await runLoad({
    url: server.url,
    pid: server.pid,
    paths: ["/"],
    headers: {},
    unique: false,
    connections: 64,
    warmUpRequests,
    seconds,
  });
  const flaw = flawOf(run, 200);
  if (flaw !== undefined) throw new Error(flaw);
  return run.perCpuSecond;
}

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-ceiling-"));
const reply = join(folder, "reply.json");
const rows: (string | number)[][] = [];
try {
  for (const bytes of SIZES) {
    writeFileSync(reply, JSON.stringify(replyOf(bytes)));
    const start = { snapshot: "-", keys: "-", reply, settings: [] };
    const servers: Server[] = [];
    for (const form of FORMS) servers.push(await startServer(BARE, { ...start, form }));
    const chosen = await startServer(BARE, start);
    await chosen.stop();
    const found = servers.map(() => [] as number[]);
    for (let round = -1; round < rounds; round++) {
      const order = [...servers.keys()];
      for (const at of round % 2 === 0 ? order : order.reverse()) {
        const figure = await perCpuSecond(servers[at]!, round < 0 ? 20_000 : 0);
        if (round >= 0) found[at]!.push(figure);
      }
    }
    await Promise.all(servers.map((server) => server.stop()));
    const ratio = median(found[1]!.map((figure, round) => figure / found[0]![round]!));
    rows.push([whole(bytes), chosen.form!, ...found.map((all) => whole(median(all))), fixed(ratio, 2)]);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${machine()}; medians of ${rounds} × ${seconds} s, 64 connections.\n`);
console.log(markdown(["bytes", "taken", ...FORMS, "Buffer, times text"], rows, 2));
// Servers that a failure left running end with this process.
process.exit();
