/** Other versions of Node, for tests of what the one that runs the tests cannot do. */

import { spawnSync } from "node:child_process";

/** A Node of a major version: its path, or why there is none. */
export type FoundNode = { readonly path: string } | { readonly missing: string };

/** A Node by its version or major version, or `latest`: this one if it is that, else one from npm's cache or registry. */
export function findNode(version: number | string): FoundNode {
  const own = process.versions.node;
  if (own === version || own.startsWith(`${version}.`)) return { path: process.execPath };
  const asked = spawnSync("npx", ["-y", "-p", `node@${version}`, "node", "-p", "process.execPath"], {
    encoding: "utf8",
    timeout: 120_000,
  });
  const path = asked.stdout?.trim() ?? "";
  return asked.status === 0 && path !== "" ? { path } : { missing: `Node ${version} cannot be had by npx` };
}
