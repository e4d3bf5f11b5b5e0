/** `orrery build`: prepares a snapshot for a fast start. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { claimFolder } from "../files/folders.ts";
import { buildPrepared } from "../server/load/build-prepared.ts";
import { PREPARED } from "../snapshot/files.ts";
import { SnapshotError } from "../util/user-error.ts";
import type { CommandIo } from "./command.ts";
import { failureAt, type Options, refuseAddress } from "./options.ts";
import { startProgress } from "./terminal.ts";

export async function build(options: Options<"build">, io: CommandIo): Promise<void> {
  const from = options.positionals[0]!;
  refuseAddress(from);
  const { out: to, allowShrink } = options.values;
  const cannotWrite = (error: unknown): never => {
    throw failureAt(to, error);
  };
  const unclaim = await claimFolder(to).catch(cannotWrite);
  const isThere = await stat(join(to, PREPARED)).catch(() => undefined);
  const bar = startProgress(io, "reading");
  const result = await buildPrepared(from, to, {
    manifest: options.values.manifest,
    guard: { current: isThere && to, allowShrink },
    onProgress: bar.show,
  })
    .catch(async (error: unknown) => {
      await unclaim();
      return cannotWrite(error);
    })
    .finally(bar.end);
  if (!result.ok) {
    await unclaim();
    throw new SnapshotError(result.problems);
  }
  io.complain(`orrery: wrote ${to}/${PREPARED}, generation ${result.generation}, ${result.bytes} bytes\n`);
}
