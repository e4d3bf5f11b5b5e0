/**
 * What the reference page costs: those who read it, and those who do not.
 *
 *     npx tsx bench/docs.ts [--smoke]
 *
 * Prints the CPU time of a lookup with `--docs on` and `--docs off`, in turns: in the request pipeline alone, and of two
 * servers over HTTP; and of a path that is nobody's. Where Chromium is installed, also how long it takes until the page
 * is painted and until all operations are shown, with an empty cache each time, and how many bytes come over.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { answer, type State } from "../src/api/answer.ts";
import { ROUTES } from "../src/api/routes.ts";
import { addKey } from "../src/auth/keys-file.ts";
import { PROGRAM } from "../src/features.ts";
import { observeNothing } from "../src/observe/events.ts";
import { openState } from "../src/server/open.ts";
import { DEFAULTS } from "../test/support/options.ts";
import { NODE_OPTIONS, ROOT, visibleWorlds } from "./support/child.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown } from "./support/output.ts";
import { cpuOf } from "./support/process.ts";

const { smoke } = readOptions({ options: { smoke: { type: "boolean", default: false } } });
const ROUNDS = smoke ? 3 : 11;
const CALLS = smoke ? 20_000 : 200_000;
const REQUESTS = smoke ? 1000 : 10_000;
const PAINTS = smoke ? 1 : 7;

const SAMPLE = join(ROOT, "data/sample");
const world = visibleWorlds(SAMPLE)[0]!;
const LOOKUP = `/api/public/v1/worlds/${world}`;
const SETTINGS = ["on", "off"] as const;
type Setting = (typeof SETTINGS)[number];

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-docs-"));
const keys = join(folder, "keys.json");
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
const authorization = `Bearer ${token}`;

async function openWith(setting: Setting): Promise<{ state: State; close: () => void }> {
  const { state, stop, close } = await openState({
    features: PROGRAM.features,
    settings: {
      ...{ ...DEFAULTS, snapshot: SAMPLE, keys, docs: setting === "on" },
      ...{ watch: 0, searchCacheBytes: 0 },
    },
    ...{ threads: false, observe: observeNothing },
  });
  return {
    state,
    close() {
      stop();
      close();
    },
  };
}

/** Nanoseconds of CPU time that a request takes in the pipeline. */
function pipelineTime(state: State, target: string, status: number): number {
  const before = process.cpuUsage();
  for (let at = 0; at < CALLS; at++) {
    const reply = answer(
      {
        method: "GET",
        target,
        authorization,
        ifNoneMatch: undefined,
        ifMatch: undefined,
        now: 0,
        headers: new Headers(),
      },
      state,
    );
    if ("then" in reply || reply.status !== status) throw new Error(`${target}: not ${status}`);
  }
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / CALLS;
}

interface Listening {
  readonly child: ChildProcess;
  readonly origin: string;
}

async function start(setting: Setting): Promise<Listening> {
  const args = ["serve", "--snapshot", SAMPLE, "--keys", keys, "--port", "0", "--docs", setting];
  const child = spawn(process.execPath, [...NODE_OPTIONS, join(ROOT, "bin/orrery.mjs"), ...args], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  return { child, origin: new URL(/http\S+/.exec(line.toString())![0]).origin };
}

/** Microseconds of CPU time that a lookup takes a server. */
async function servedTime({ child, origin }: Listening): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const before = cpuOf(child.pid!);
  for (let at = 0; at < REQUESTS; at++) {
    await new Promise<void>((resolve, reject) => {
      const request = get(origin + LOOKUP, { agent, headers: { authorization } }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${response.statusCode}`));
        response.resume().on("end", resolve);
      });
      request.on("error", reject);
    });
  }
  agent.destroy();
  return ((cpuOf(child.pid!) - before) * 1000) / REQUESTS;
}

/** Milliseconds until a browser with nothing in its cache paints the page, and until it shows all operations; and bytes. */
async function paintTime(executablePath: string, origin: string): Promise<number[]> {
  const browser = await chromium.launchPersistentContext(mkdtempSync(join(folder, "profile-")), {
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"],
  });
  try {
    const page = await browser.newPage();
    await page.goto(`${origin}/docs`);
    await page
      .locator(".opblock")
      .nth(ROUTES.length - 1)
      .waitFor();
    return await page.evaluate(`[
      performance.getEntriesByName("first-contentful-paint")[0].startTime,
      performance.now(),
      performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
        .reduce((sum, { transferSize }) => sum + transferSize, 0) / 1000,
    ]`);
  } finally {
    await browser.close();
  }
}

const children: Listening[] = [];
try {
  console.log(`${machine()}; medians of ${ROUNDS} rounds in turns.\n`);
  const opened = await Promise.all(SETTINGS.map(openWith));
  const rows: { name: string; unit: string; times: number[][] }[] = [
    { name: "a lookup, pipeline alone", unit: "ns", times: [[], []] },
    { name: "a path that is nobody's, pipeline alone", unit: "ns", times: [[], []] },
    { name: "a lookup over HTTP, the server's CPU time", unit: "µs", times: [[], []] },
  ];
  for (const setting of SETTINGS) children.push(await start(setting));
  for (let round = 0; round <= ROUNDS; round++) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const at of order) {
      const { state } = opened[at]!;
      const times = [
        pipelineTime(state, LOOKUP, 200),
        pipelineTime(state, "/api/nowhere", 404),
        await servedTime(children[at]!),
      ];
      // The first round warms up.
      if (round > 0) for (const [row, time] of times.entries()) rows[row]!.times[at]!.push(time);
    }
  }
  for (const { close } of opened) close();
  console.log(
    markdown(
      ["", "unit", "docs on", "docs off", "on / off"],
      rows.map(({ name, unit, times }) => {
        const [on, off] = times.map((all) => median(all)) as [number, number];
        return [
          name,
          unit,
          fixed(on, unit === "ns" ? 0 : 1),
          fixed(off, unit === "ns" ? 0 : 1),
          fixed(on / off, 3),
        ];
      }),
      2,
    ),
  );
  let executable = "";
  try {
    executable = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  } catch {
    console.log("\nChromium is not installed: nothing of what a reader sees was measured.");
  }
  if (executable !== "") {
    const paints: number[][] = [];
    for (let at = 0; at < PAINTS; at++) paints.push(await paintTime(executable, children[0]!.origin));
    console.log(`\nIn Chromium with an empty cache, medians of ${PAINTS}.\n`);
    console.log(
      markdown(
        ["first paint, ms", "all operations shown, ms", "over the wire, kB"],
        [[0, 1, 2].map((column) => fixed(median(paints.map((paint) => paint[column]!)), 0))],
        0,
      ),
    );
  }
} finally {
  for (const { child } of children) child.kill("SIGTERM");
  await Promise.all(children.map(({ child }) => child.exitCode ?? once(child, "close")));
  rmSync(folder, { recursive: true, force: true });
}
