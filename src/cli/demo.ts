/** `orrery demo`, which is `npm start`: the sample snapshot with keys made on the spot. */

import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeKey } from "../auth/keys-file.ts";
import { sampleFolder } from "../install/package.ts";
import { defaultsOf } from "../settings/settings.ts";
import { systemErrorText } from "../util/system-error.ts";
import type { CommandIo, Program } from "./command.ts";
import { CommandError, type Options, readPrefixes } from "./options.ts";
import { openLog, runServer } from "./serve.ts";

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
  const log = await openLog(options);
  readPrefixes(options);
  const settings = { ...defaultsOf(program.settings), ...values, snapshot: sample, keys };
  await runServer(options, { io, program, log }, { settings, admin }, ({ url, adminUrl, pagesUrl }) => [
    `curl -s -H 'Authorization: Bearer ${token}' '${url}/worlds?limit=3'\n`,
    ...(adminUrl === undefined ? [] : [`orrery admin on ${adminUrl}\n`]),
    ...(pagesUrl === undefined ? [] : [`API reference on ${pagesUrl}\n`]),
  ]);
}
