// No syntax that is newer than modules are: old versions of Node must understand this file to say that they are too old.

/** The oldest Node that runs the program; `engines` in package.json says the same. */
export const OLDEST_NODE = "20.19";

/**
 * Why the program does not run here; an empty string where it does.
 *
 * @param {Readonly<Record<string, string | undefined>>} versions `process.versions`
 * @returns {string}
 */
export function whyNotHere(versions) {
  if (versions.bun !== undefined || versions.deno !== undefined) return "";
  const needs = `needs Node ${OLDEST_NODE} or newer, Bun or Deno; this is `;
  if (versions.node === undefined) return `${needs}none of them`;
  const own = versions.node.split(".");
  const oldest = OLDEST_NODE.split(".");
  const isNewEnough = own[0] === oldest[0] ? Number(own[1]) >= Number(oldest[1]) : own[0] - oldest[0] > 0;
  return isNewEnough ? "" : `${needs}Node ${versions.node}`;
}
