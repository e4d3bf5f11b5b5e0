/** Programs and packages that benches require, each with the line that installs it. */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./child.ts";

/** Debian's package of each program. */
const PACKAGES = {
  nginx: "nginx-light",
  wrk: "wrk",
  "redis-server": "redis-server",
  postgresql: "postgresql",
  taskset: "util-linux",
} as const;

/** A requirement of a bench: a program, the peers' packages, or those of them without native code. */
export type Need = keyof typeof PACKAGES | "peers" | "fastify";

const POSTGRESQL = "/usr/lib/postgresql";

const FASTIFY = "require('fastify'); require('flexsearch')";
const LOADS = {
  fastify: FASTIFY,
  // Native code, built for one version of Node.
  peers: `${FASTIFY}; new (require('better-sqlite3'))(':memory:')`,
} as const;

function isLoaded(need: Need): need is keyof typeof LOADS {
  return need in LOADS;
}

function canLoad(code: string): boolean {
  const require = `const { createRequire } = require("node:module"); ((require) => { ${code} })(createRequire(process.argv[1]))`;
  return spawnSync(process.execPath, ["-e", require, join(ROOT, "bench/package.json")]).status === 0;
}

function isHere(need: Need): boolean {
  if (isLoaded(need)) return canLoad(LOADS[need]);
  // Its programs are in a folder of their version, which is not on PATH.
  if (need === "postgresql") return existsSync(POSTGRESQL) && readdirSync(POSTGRESQL).length > 0;
  return spawnSync("sh", ["-c", 'command -v "$0"', need]).status === 0;
}

/** A message with the missing ones and the way to install them; undefined if none is missing. */
export function missing(needs: readonly Need[]): string | undefined {
  const absent = [...new Set(needs)].filter((need) => !isHere(need));
  if (absent.length === 0) return undefined;
  const packages = absent.flatMap((need) => (isLoaded(need) ? [] : [PACKAGES[need]]));
  const cures = [
    ...(packages.length > 0 ? [`apt-get install -y --no-install-recommends ${packages.join(" ")}`] : []),
    ...(absent.some(isLoaded) ? ["npm run bench:install"] : []),
  ];
  return `not installed: ${absent.join(", ")}. Install with: ${cures.join(" && ")}`;
}

/** Ends a bench that cannot run here. @throws {Error} naming the commands that install the missing parts */
export function demand(...needs: Need[]): void {
  const reason = missing(needs);
  if (reason !== undefined) throw new Error(reason);
}
