/** `orrery mirror`: a snapshot of another server, once or kept up to date. */

import type { CommandIo } from "../../cli/command.ts";
import { CommandError, type Options, ProblemsError } from "../../cli/options.ts";
import { HeldError } from "../../files/ownership.ts";
import { OccupiedError } from "../../files/publish.ts";
import { ShrunkError } from "../../snapshot/shrink-guard.ts";
import { explainUpstream, RequestProgress, readServer } from "../../upstream/cli.ts";
import { TIMING } from "../../upstream/retry.ts";
import { runRounds } from "../rounds.ts";
import { BadRowsError } from "../row-folder.ts";
import type { Bound } from "./bound.ts";
import { type Mirror, type Mirrored, openMirror } from "./mirror.ts";

/** Whether the place to publish at is to blame. */
function isOfPlace(error: unknown): boolean {
  return error instanceof OccupiedError || error instanceof HeldError;
}

/** The fewest requests that could do, and what they are for. */
function boundText(bound: Bound): string {
  const parts = Object.entries(bound).map(([what, requests]) => `${what} ${requests}`);
  const sum = Object.values(bound).reduce((total, requests) => total + requests, 0);
  return `at least ${sum} are needed (${parts.join(", ")})`;
}

/** One line on what came of a round. */
function lineOf({ generation, isNew, requests, collected }: Mirrored, began: number): string {
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const outcome = isNew ? `published generation ${generation}` : `unchanged, still generation ${generation}`;
  const took = `${requests} ${requests === 1 ? "request" : "requests"}`;
  if (collected === undefined) return `${outcome}: ${took}, ${seconds} s`;
  const { worlds, instances, users, platform } = collected;
  const rows = `${worlds.length} worlds, ${instances.length} instances, ${users.length} of ${platform.totalUsers} users`;
  return `${outcome}: ${rows}; ${took}, ${boundText(collected.bound)}; ${seconds} s`;
}

/** An error as what the command says of it; defects stay what they are. */
function explain(error: unknown, out: string): unknown {
  if (error instanceof BadRowsError) return new ProblemsError(error.problems);
  if (isOfPlace(error) || error instanceof ShrunkError)
    return new CommandError(`${out}: ${(error as Error).message}`);
  return explainUpstream(error, out);
}

/** Whether the next round may well succeed without anybody's help. */
function isPassing(error: unknown, out: string): boolean {
  return !isOfPlace(error) && explain(error, out) !== error;
}

/** Runs the command. */
export async function mirror(options: Options<"mirror">, io: CommandIo): Promise<void> {
  const from = readServer(options.values.from, options.names.from);
  const { out } = options.values;
  const progress = new RequestProgress(io, `mirroring ${new URL(from).host}`);
  let opened: Mirror | undefined;
  await runRounds(options, io, {
    explain(error) {
      progress.end();
      return explain(error, out);
    },
    close: async () => opened?.close(),
    isPassing: (error) => isPassing(error, out),
    async run(signal) {
      const began = performance.now();
      opened ??= await openMirror({
        ...{ from, out, signal, timing: TIMING },
        tokenFile: options.values.tokenFile,
        searches: [...new Set(options.values.users)],
        perHour: options.values.requestsPerHour,
        maxBytes: options.values.maxSnapshotBytes,
        keep: options.values.keep,
        allowShrink: options.values.allowShrink,
        tell(sentence) {
          progress.end();
          io.complain(`orrery: ${sentence}\n`);
        },
        progress,
      });
      const mirrored = await opened.renew().finally(() => progress.end());
      return lineOf(mirrored, began);
    },
  });
}
