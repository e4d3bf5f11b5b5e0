/** Other versions of Node, for tests of what the one that runs the tests cannot do. */

import { spawnSync } from "node:child_process";

/** A Node of a major version: its path, or why there is none. */
export type FoundNode = { readonly path: string } | { readonly missing: string };

/** This Node if it is new enough, else one from npm's cache or registry. */
export function findNode(major: number): FoundNode {
  if (Number(process.versions.node.split(".")[0]) >= major) return { path: process.execPath };
  const asked = spawnSync("npx", ["-y", "-p", `node@${major}`, "node", "-p", "process.execPath"], {
    encoding: "utf8",
    timeout: 120_000,
  });
  const path = asked.stdout?.trim() ?? "";
  return asked.status === 0 && path !== "" ? { path } : { missing: `Node ${major} cannot be had by npx` };
}
