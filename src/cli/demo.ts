/** `orrery demo`, which is `npm start`: the sample snapshot with keys made on the spot. */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../package.ts";
import type { World } from "./commands.ts";
import { addKey } from "./keysfile.ts";
import type { Options } from "./options.ts";
import { listeningLine, serverOptions, start, takeSignals } from "./serve.ts";

const SAMPLE = fileURLToPath(packageFile("data/sample"));

/** Runs the command. */
export async function demo(options: Options, world: World): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "orrery-demo-"));
  // However the process ends, by a second signal too.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const signals = takeSignals(world);
  const keys = join(folder, "keys.json");
  const settings = serverOptions(options, SAMPLE, keys);
  const token = await addKey(keys, { name: "demo", kind: "api", prefix: settings.prefixes.api });
  const server = await start(settings, world);
  const stopped = signals.handTo(server);
  world.print(listeningLine(server));
  world.print(`curl -s -H 'Authorization: Bearer ${token}' '${server.url}/worlds?limit=3'\n`);
  await stopped;
  // As for serve: a load that is still under way must not keep the process.
  world.exit(0);
}
