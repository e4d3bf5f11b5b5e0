// No syntax that is newer than modules are: old versions of Node must understand this file to say that they are too old.

/** The oldest Node that runs the program; `engines` in package.json says the same. */
export const OLDEST_NODE = "20.19";

/** The oldest Bun whose server takes routes. */
const OLDEST_BUN = "1.2.3";

/** Why the program does not run here; an empty string where it does. */
export function whyNotHere(versions) {
  if (versions.deno !== undefined) return "";
  const needs = `needs Node ${OLDEST_NODE} or newer, Bun ${OLDEST_BUN} or newer, or Deno; this is `;
  if (versions.bun !== undefined) {
    return isAtLeast(versions.bun, OLDEST_BUN) ? "" : `${needs}Bun ${versions.bun}`;
  }
  if (versions.node === undefined) return `${needs}none of them`;
  return isAtLeast(versions.node, OLDEST_NODE) ? "" : `${needs}Node ${versions.node}`;
}

/** Whether this is Node, and older than some version. */
export function isNodeBefore({ node, bun, deno }, version) {
  return bun === undefined && deno === undefined && node !== undefined && !isAtLeast(node, version);
}

function isAtLeast(version, oldest) {
  const own = version.split(".");
  const wanted = oldest.split(".");
  for (let at = 0; at < wanted.length; at++) {
    if (own[at] !== wanted[at]) return Number(own[at]) > Number(wanted[at]);
  }
  return true;
}
