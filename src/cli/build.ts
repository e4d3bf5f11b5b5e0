/** `orrery build`: prepares a snapshot for a fast start. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { claimFolder } from "../files/folders.ts";
import { keepEarlier, versionsOf } from "../files/publish.ts";
import { buildPrepared } from "../server/load/build-prepared.ts";
import { MANIFEST, PREPARED } from "../snapshot/files.ts";
import { contentsIn } from "../snapshot/prepared/load.ts";
import { SnapshotError } from "../util/told-error.ts";
import type { CommandIo } from "./command.ts";
import { CommandError, failureAt, type Options } from "./options.ts";
import { refuseAddress } from "./source.ts";
import { startProgress } from "./terminal.ts";

/** The files of a build; the first is always present. */
const PUBLISHED_FILES = [PREPARED, MANIFEST] as const;

export async function build(options: Options<"build">, io: CommandIo): Promise<void> {
  const from = options.positionals[0]!;
  refuseAddress("DIR", from);
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
    // The build goes on if the folder's siblings cannot be written, as beside a mount.
    ready: async (contents) => {
      const isSame = async (folder: string): Promise<boolean> => (await contentsIn(folder)) === contents;
      await keepEarlier(to, PUBLISHED_FILES, isSame).catch((error: unknown) => {
        const failure = failureAt(versionsOf(to), error);
        if (!(failure instanceof CommandError)) throw failure;
        io.complain(`orrery: the version before is not kept: ${failure.message}\n`);
      });
    },
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
