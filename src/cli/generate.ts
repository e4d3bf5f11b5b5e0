/** `orrery generate`: a synthetic snapshot. */

import { generateSnapshot } from "../generate/generate.ts";
import type { World } from "./commands.ts";
import { CommandError, type Options } from "./options.ts";

/** Runs the command. */
export async function generate(options: Options, world: World): Promise<void> {
  const out = options.text("out");
  try {
    await generateSnapshot({
      out,
      users: options.integer("users"),
      worlds: options.integer("worlds"),
      instances: options.integer("instances"),
      seed: options.integer("seed"),
      gzip: options.flag("gzip"),
    });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    throw new CommandError(`${out}: ${code} in ${syscall}`);
  }
  world.complain(`orrery: wrote ${out}\n`);
}
