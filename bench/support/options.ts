/** The options of a bench. */

import { readFileSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";

/** The comment at the top of a file, without its markers. */
export function commentOf(text: string): string {
  const [, comment] = /^\/\*\*\n([\s\S]*?)\n \*\/$/m.exec(text)!;
  return comment!.replace(/^ \* ?/gm, "");
}

/**
 * The options of the process. `--help` prints the comment at the top of the bench and ends the process;
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
    return parseArgs({ ...config, args }).values as ReturnType<typeof parseArgs<Config>>["values"];
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nSee --help.\n`);
    process.exit(2);
  }
}
