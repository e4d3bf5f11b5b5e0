/** `orrery build`: a snapshot prepared for a fast start. */

import { claimFolder } from "../files/folders.ts";
import { buildPrepared } from "../server/load/build-prepared.ts";
import { PREPARED } from "../snapshot/files.ts";
import { OvertakenError } from "../snapshot/prepared/write.ts";
import { systemErrorText } from "../util/system-error.ts";
import type { World } from "./command.ts";
import { CommandError, type Options, ProblemsError } from "./options.ts";
import { startProgress } from "./progress.ts";
import { refuseAddress } from "./source.ts";

/** Runs the command. */
export async function build(options: Options<"build">, world: World): Promise<void> {
  const from = options.positionals[0]!;
  refuseAddress("DIR", from);
  const to = options.values.out;
  const cannotWrite = (error: unknown): never => {
    const why = error instanceof OvertakenError ? error.message : systemErrorText(error);
    if (why === undefined) throw error;
    throw new CommandError(`${to}: ${why}`);
  };
  const unclaim = await claimFolder(to).catch(cannotWrite);
  const bar = startProgress(world, "reading");
  const result = await buildPrepared(from, to, {
    maxBytes: options.values.maxSnapshotBytes,
    manifest: options.values.manifest,
    onProgress: bar.show,
  })
    .catch(cannotWrite)
    .finally(bar.end);
  if (!result.ok) {
    await unclaim();
    throw new ProblemsError(result.problems);
  }
  world.complain(`orrery: wrote ${to}/${PREPARED}, generation ${result.generation}, ${result.bytes} bytes\n`);
}
