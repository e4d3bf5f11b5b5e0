/** `orrery mirror`: a snapshot of another server, once or kept up to date. */

import type { CommandIo } from "../../cli/command.ts";
import type { Options } from "../../cli/options.ts";
import { RequestProgress, readServer } from "../../upstream/cli.ts";
import { TIMING } from "../../upstream/retry.ts";
import { runRounds } from "../rounds.ts";
import { Mirror, type Mirrored } from "./mirror.ts";

/** What a round took, up to the time. */
function detailsOf({ requests, collected }: Mirrored): string {
  const took = `${requests} ${requests === 1 ? "request" : "requests"}`;
  if (collected === undefined) return `${took},`;
  const { worlds, instances, users, platform, bound } = collected;
  const rows = `${worlds.length} worlds, ${instances.length} instances, ${users.length} of ${platform.totalUsers} users`;
  const parts = Object.entries(bound).map(([what, least]) => `${what} ${least}`);
  const sum = Object.values(bound).reduce((total, least) => total + least, 0);
  return `${rows}; ${took}, at least ${sum} are needed (${parts.join(", ")});`;
}

/** Runs the command. */
export async function mirror(options: Options<"mirror">, io: CommandIo): Promise<void> {
  const from = readServer(options.values.from, options.names.from);
  const { out, tokenFile, users, requestsPerHour: perHour } = options.values;
  const { maxSnapshotBytes: maxBytes, keep, allowShrink } = options.values;
  const progress = new RequestProgress(io, `mirroring ${new URL(from).host}`);
  const tell = (sentence: string): void => {
    progress.end();
    io.complain(`orrery: ${sentence}\n`);
  };
  let opened: Mirror | undefined;
  await runRounds(options, io, {
    close: async () => opened?.close(),
    async run(signal) {
      try {
        opened ??= await Mirror.open({
          ...{ from, out, tokenFile, perHour, maxBytes, keep, allowShrink },
          ...{ signal, timing: TIMING, searches: [...new Set(users)], tell, progress },
        });
        const mirrored = await opened.renew();
        return { ...mirrored, details: detailsOf(mirrored) };
      } finally {
        progress.end();
      }
    },
  });
}
