/** `orrery verify`: compares the answers of a snapshot with those of another server. */

import { randomBytes } from "node:crypto";
import { recordOf } from "../auth/given-keys.ts";
import type { CommandIo, Program } from "../cli/command.ts";
import { CommandError, failureAt, type Options } from "../cli/options.ts";
import { refuseAddress } from "../cli/source.ts";
import { formatColumns, jsonText } from "../cli/terminal.ts";
import { readToken } from "../files/token-file.ts";
import { createDirectAdapter } from "../http/direct.ts";
import { observeNothing } from "../observe/events.ts";
import { openState } from "../server/open.ts";
import { type Defaults, defaultsOf } from "../settings/settings.ts";
import { RequestProgress, readNote, readServer, stopSignal } from "../upstream/cli.ts";
import { TIMING } from "../upstream/retry.ts";
import { Upstream } from "../upstream/upstream.ts";
import { type Difference, Here } from "./compare.ts";
import { type Verified, verifySnapshot } from "./verify.ts";

/** Maximum examples per kind in the text output. */
const MOST_SHOWN = 5;

/** Opens the snapshot like a server, with one temporary token. */
async function openSnapshot(snapshot: string, maxSnapshotBytes: number, defaults: Defaults) {
  const token = defaults.cliTokenPrefix + randomBytes(16).toString("hex");
  const { state, close } = await openState({
    features: {},
    settings: { ...defaults, snapshot, keys: "", watch: 0, searchCacheBytes: 0, maxSnapshotBytes },
    records: [recordOf({ id: "verify", kind: "cli", token })],
    threads: false,
    observe: observeNothing,
  });
  return { store: state.generation.store, here: new Here(createDirectAdapter(state), token), close };
}

function lineOf({ target, what, here, there }: Omit<Difference, "kind">): readonly string[] {
  return [`  ${target}`, what, `here ${here ?? "nothing"}`, `there ${there ?? "nothing"}`];
}

function noteText(notes: Verified["notes"]): string {
  if (notes.length === 0) return "";
  const lines = notes.map((note) => [...lineOf(note), `answers ${note.answers}`]);
  return `\nnotes: headers that the specification does not name\n${formatColumns(lines)}`;
}

function textOf({ compared, differences, counts, notes }: Verified): string {
  const lines = [`compared ${compared} answers, ${differences.length} differences\n`];
  for (const [kind, count] of Object.entries(counts)) {
    const some = differences.filter((found) => found.kind === kind).slice(0, MOST_SHOWN);
    lines.push(`\n${kind}: ${count}\n`, formatColumns(some.map(lineOf)));
    if (count > some.length) lines.push(`  … and ${count - some.length} more\n`);
  }
  lines.push(noteText(notes));
  return lines.join("");
}

export async function verify(options: Options<"verify">, io: CommandIo, program: Program): Promise<void> {
  const base = readServer(options.values.against, options.names.against);
  const folder = options.positionals[0]!;
  const { samples, seed, requestsPerHour: perHour, tokenFile, maxSnapshotBytes } = options.values;
  refuseAddress("DIR", folder);
  const signal = stopSignal();
  const progress = new RequestProgress(io, `asking ${new URL(base).host}`);
  let verified: Verified;
  try {
    const token = await readToken(tokenFile, options.names.tokenFile);
    const defaults = defaultsOf(program.settings);
    const { store, here, close } = await openSnapshot(folder, maxSnapshotBytes, defaults);
    try {
      const upstream = new Upstream({ base, token, timing: TIMING, signal, perHour, progress });
      const note = await readNote(folder);
      verified = await verifySnapshot({ store, here, upstream, note, samples, seed, progress });
    } finally {
      close();
    }
  } catch (error) {
    throw failureAt(folder, error);
  } finally {
    progress.end();
  }
  const { differences } = verified;
  const json = { ok: differences.length === 0, against: base, ...verified };
  io.print(options.values.json ? jsonText(json) : textOf(verified));
  if (differences.length > 0)
    throw new CommandError(`${folder} differs from ${base}: ${differences.length} differences`);
}
