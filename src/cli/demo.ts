/** `orrery demo`, which is `npm start`: the sample snapshot with keys made on the spot. */

import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeKey } from "../auth/keys-file.ts";
import { httpFrom } from "../http/server.ts";
import { sampleFolder } from "../install/package.ts";
import { defaultsOf } from "../settings/settings.ts";
import { systemErrorText } from "../util/system-error.ts";
import type { CommandIo, Program } from "./command.ts";
import { openConsole } from "./console.ts";
import { CommandError, type Options, readPrefixes } from "./options.ts";
import { accessWriter, listeningLine, openLog, reportWithoutEffect, start, takeSignals } from "./serve.ts";
import { reportUnknownVariables } from "./variables.ts";

/** A place for the keys, removed however the process ends, by a second signal too; and the sample, perhaps in it. */
async function makePlace(prefix: string): Promise<{ keys: string; token: string; sample: string }> {
  try {
    const folder = await mkdtemp(join(tmpdir(), "orrery-demo-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    const { token, record } = makeKey({ name: "demo", kind: "api", prefix });
    const keys = join(folder, "keys.json");
    // Nobody else knows of the folder, and nothing in it has to last: so without a lock.
    await writeFile(keys, JSON.stringify({ keys: [record] }), { mode: 0o600 });
    return { keys, token, sample: sampleFolder(folder) };
  } catch (error) {
    const words = systemErrorText(error);
    if (words === undefined) throw error;
    throw new CommandError(`cannot write to the temporary folder ${tmpdir()}: ${words}`);
  }
}

/** Runs the command. */
export async function demo(options: Options<"demo">, io: CommandIo, program: Program): Promise<void> {
  const admin = await program.readAdmin?.(options, true);
  const { values } = options;
  const { keys, token, sample } = await makePlace(values.apiKeyPrefix);
  const console = await openConsole(values.logFile, values.logFormat);
  const observe = openLog(options, console);
  const signals = takeSignals(io, observe, console);
  reportUnknownVariables(io.environment, program.settings, observe);
  reportWithoutEffect(options, observe);
  readPrefixes(options);
  const settings = { ...defaultsOf(program.settings), ...values, snapshot: sample, keys };
  const server = await start(
    {
      ...{ settings, features: program.features, admin, http: httpFrom(values), observe },
      writeAccess: accessWriter(console),
    },
    options.names,
    io,
    console,
  );
  const stopped = signals.handTo(server);
  await console.announce(listeningLine(server));
  await console.announce(`curl -s -H 'Authorization: Bearer ${token}' '${server.url}/worlds?limit=3'\n`);
  if (server.adminUrl !== undefined) await console.announce(`orrery admin on ${server.adminUrl}\n`);
  if (server.pagesUrl !== undefined) await console.announce(`API reference on ${server.pagesUrl}\n`);
  await stopped;
  await console.flush();
  // As for serve: a load that is still under way must not keep the process.
  io.exit(0);
}
