/** The options of a bench. */

import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { type ParseArgsConfig, parseArgs } from "node:util";

/** The comment at the top of a file, without its markers. */
export function commentOf(text: string): string {
  const [, comment] = /^\/\*\*\n([\s\S]*?)\n \*\/$/m.exec(text)!;
  return comment!.replace(/^ \* ?/gm, "");
}

const LOOK_MS = 300;
const MOST_BUSY = 0.15;

/** The share of the processors' time that other programs took while this one looked. */
function busyShare(): number {
  const before = cpus();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
  let idle = 0;
  let all = 0;
  for (const [at, { times }] of cpus().entries()) {
    const earlier = before[at]!.times;
    idle += times.idle - earlier.idle;
    for (const kind of Object.keys(times) as (keyof typeof times)[]) all += times[kind] - earlier[kind];
  }
  return 1 - idle / all;
}

function warnIfBusy(): void {
  const share = busyShare();
  // Not a number where the system does not tell.
  if (!(share > MOST_BUSY)) return;
  const percent = Math.round(share * 100);
  process.stderr.write(
    `this machine is busy (${percent} % of its processors' time): times and ratios are noisy\n`,
  );
}

/**
 * The options of the process, and a first line if the machine is busy. `--help` prints the comment at the top of the bench and ends the process;
 * a wrong option ends it with a line and status 2.
 *
 * @param config as `parseArgs` takes it
 */
export function readOptions<const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>>["values"] {
  const args = process.argv.slice(2);
  if (args.includes("--help")) {
    process.stdout.write(`${commentOf(readFileSync(process.argv[1]!, "utf8"))}\n`);
    process.exit(0);
  }
  try {
    const { values } = parseArgs({ ...config, args });
    warnIfBusy();
    return values as ReturnType<typeof parseArgs<Config>>["values"];
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nSee --help.\n`);
    process.exit(2);
  }
}
