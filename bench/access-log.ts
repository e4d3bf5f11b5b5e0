/**
 * What the access log and `--state` cost a lookup.
 *
 *     npx tsx bench/access-log.ts [--rounds N] [--seconds N] [--smoke]
 *
 * One server each without either, with all requests logged, with one in a hundred, and with --state, in turns. Prints
 * requests per second of CPU time and, by round, their share of the first: medians, the lowest and the highest.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addKey } from "../src/auth/keys-file.ts";
import { flawOf, type Run, runLoad } from "./http/load.ts";
import { ORRERY, type Server, startServer } from "./http/servers.ts";
import { workloadsOf } from "./http/workloads.ts";
import { snapshotOf } from "./support/child.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    rounds: { type: "string" },
    seconds: { type: "string" },
    smoke: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 9));
const seconds = Number(values.seconds ?? (values.smoke ? 0.3 : 0.8));

const folder = mkdtempSync(join(tmpdir(), "orrery-access-log-"));
const keys = join(folder, "keys.json");
const token = await addKey(keys, { name: "bench", kind: "api", prefix: "svc_sk_", limit: 2_000_000_000 });
const log = ["--access-log", "--log-file", join(folder, "log")];
const subjects = [
  { name: "nothing", settings: [] },
  { name: "all requests logged", settings: log },
  { name: "one in 100 logged", settings: [...log, "--access-log-sample", "100"] },
  { name: "`--state`", settings: ["--state", join(folder, "state")] },
];

const snapshot = await snapshotOf(values.smoke ? 2000 : 20_000);
const [workload] = workloadsOf(snapshot).filter(({ name }) => name === "world-by-id");
const servers: Server[] = [];
for (const { settings } of subjects)
  servers.push(await startServer(ORRERY, { snapshot, keys, reply: "", settings }));
const runs = subjects.map((): Run[] => []);
for (let round = 0; round < rounds; round++) {
  const order = [...servers.keys()];
  for (const at of round % 2 === 0 ? order : order.reverse()) {
    const { url, pid } = servers[at]!;
    const run = await runLoad({
      url,
      pid,
      paths: workload!.requests.map(({ path }) => path),
      headers: { Authorization: `Bearer ${token}` },
      unique: false,
      connections: 64,
      warmUpRequests: round === 0 && !values.smoke ? 20_000 : 0,
      seconds,
    });
    const flaw = flawOf(run, 200);
    if (flaw !== undefined) throw new Error(`${subjects[at]!.name}: ${flaw}`);
    runs[at]!.push(run);
  }
}
for (const server of servers) await server.stop();
rmSync(folder, { recursive: true });
console.log(
  `${machine()}; medians of ${rounds} runs of ${seconds} s (lowest–highest), requests for a world.\n`,
);
const figures = runs.map((some) => some.map(({ perCpuSecond }) => perCpuSecond));
console.log(
  markdown(
    ["", "requests a CPU second", "share"],
    subjects.map(({ name }, at) => [
      name,
      spread(figures[at]!, whole),
      spread(
        figures[at]!.map((figure, round) => figure / figures[0]![round]!),
        3,
      ),
    ]),
  ),
);
process.exit();
