/** A small snapshot and a keys file with one CLI key, for servers in processes of their own. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addKey } from "../../src/auth/keys-file.ts";
import { generateSnapshot } from "../../src/generate/generate.ts";

export interface Small {
  /** Settings that serve it on a free port. */
  readonly settings: readonly string[];
  readonly token: string;
  readonly remove: () => Promise<void>;
}

/** Makes both in a temporary folder. */
export async function makeSmall(): Promise<Small> {
  const folder = await mkdtemp(join(tmpdir(), "orrery-small-"));
  const snapshot = join(folder, "snapshot");
  const keys = join(folder, "keys.json");
  await generateSnapshot({ out: snapshot, users: 300, worlds: 120, instances: 40, seed: 3, gzip: false });
  const token = await addKey(keys, { name: "test", kind: "cli", prefix: "svcx_" });
  return {
    settings: ["--snapshot", snapshot, "--keys", keys, "--port", "0", "--log-level", "error"],
    token,
    remove: () => rm(folder, { recursive: true }),
  };
}
