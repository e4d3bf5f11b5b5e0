/** Sorting matches into match classes, and names by document. */

import type { Matches } from "./words.ts";

/**
 * Orders documents by class; within a class they stay in document order.
 *
 * @param classOf class of a match by its place, from 0; below 0 it is left out
 */
export function rankByClass(
  matches: Matches,
  classes: number,
  classOf: (document: number, how: number) => number,
): Uint32Array<ArrayBuffer> {
  const { documents, how } = matches;
  const classAt = new Int8Array(documents.length);
  const next = new Uint32Array(classes + 1);
  for (let at = 0; at < documents.length; at++) {
    const found = classOf(documents[at]!, how[at]!);
    classAt[at] = found;
    if (found >= 0) next[found + 1]!++;
  }
  for (let found = 0; found < classes; found++) next[found + 1]! += next[found]!;
  const ranked = new Uint32Array(next[classes]!);
  for (let at = 0; at < documents.length; at++) {
    if (classAt[at]! >= 0) ranked[next[classAt[at]!]!++] = documents[at]!;
  }
  return ranked;
}

/** Folded names in one string, which costs far less memory than a string a name. */
export interface Names {
  readonly text: string;
  /** Name n is `text.slice(starts[n], starts[n + 1])`. */
  readonly starts: Uint32Array;
}

/** Packs names; the number of a name is its place. */
export function packNames(names: readonly string[]): Names {
  const starts = new Uint32Array(names.length + 1);
  for (let at = 0; at < names.length; at++) starts[at + 1] = starts[at]! + names[at]!.length;
  return { text: names.join(""), starts };
}

/** One name. */
export function nameAt(names: Names, at: number): string {
  return names.text.slice(names.starts[at]!, names.starts[at + 1]!);
}
