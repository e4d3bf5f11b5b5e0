/**
 * The best of found worlds, for a first page: most searches are asked for no
 * other, and to list all of them in order takes longer than to find them.
 */

import type { Rows } from "../store/generation.ts";
import { lowestBit } from "./bits.ts";
import type { DocumentCounter } from "./documents.ts";
import { findNameRange, type NameRange, type Ranking } from "./ranking.ts";
import { Smallest } from "./smallest.ts";

/** Picks the best out of a list. @param many no more than there are */
export function pickFromList(entries: Uint32Array, many: number, ranking: Ranking, term: string): Rows {
  const range = findNameRange(ranking, term);
  const picked: Rows = many > PICKED ? new Uint32Array(many) : [];
  let to = pickBeginning(ranking, range, picked, many);
  for (let at = 0; at < entries.length && to < many; at++) {
    if ((entries[at]! & 1) === 1 && !beginsWithTerm(ranking, range, entries[at]! >>> 1)) {
      picked[to++] = entries[at]! >>> 1;
    }
  }
  for (let at = 0; at < entries.length && to < many; at++) {
    if ((entries[at]! & 1) === 0) picked[to++] = entries[at]! >>> 1;
  }
  return picked;
}

/** So many are picked out of counted documents; the largest first page of a client has fewer. */
const PICKED = 64;

/** Picks the best out of counted documents. @param total how many these are */
export function pickFromCounter(
  { any, flagged }: DocumentCounter,
  total: number,
  ranking: Ranking,
  term: string,
): number[] {
  const range = findNameRange(ranking, term);
  const many = Math.min(total, PICKED);
  const picked: number[] = [];
  let to = pickBeginning(ranking, range, picked, many);
  for (let at = 0; at < any.length && to < many; at++) {
    for (let word = flagged[at]!; word !== 0 && to < many; word &= word - 1) {
      const document = at * 32 + lowestBit(word);
      if (!beginsWithTerm(ranking, range, document)) picked[to++] = document;
    }
  }
  for (let at = 0; at < any.length && to < many; at++) {
    for (let word = any[at]! & ~flagged[at]!; word !== 0 && to < many; word &= word - 1) {
      picked[to++] = at * 32 + lowestBit(word);
    }
  }
  return picked;
}

/** Picks documents whose names begin with a term, those first that are the term. @returns how many */
function pickBeginning(
  { byName }: Ranking,
  { from, equalEnd, end }: NameRange,
  picked: Rows,
  many: number,
): number {
  let to = 0;
  for (let at = from; at < equalEnd && to < many; at++) picked[to++] = byName[at]!;
  if (to === many || equalEnd === end) return to;
  let first: Rows;
  if (many > PICKED) first = byName.slice(equalEnd, end).sort();
  else {
    const smallest = new Smallest(many - to);
    for (let at = equalEnd; at < end; at++) if (byName[at]! < smallest.limit) smallest.add(byName[at]!);
    first = smallest.numbers;
  }
  for (let at = 0; at < first.length && to < many; at++) picked[to++] = first[at]!;
  return to;
}

function beginsWithTerm({ places }: Ranking, { from, end }: NameRange, document: number): boolean {
  // For most queries there is no such name, and no need to go to a place that is anywhere in memory.
  return from < end && places[document]! >= from && places[document]! < end;
}
