/**
 * The best of found worlds, for a first page: most searches are asked for no
 * other, and to list all of them in order takes longer than to find them.
 */

import { lowestBit } from "./bits.ts";
import type { DocumentCounter } from "./documents.ts";
import { findNameRange, type NameRange, type Ranking } from "./ranking.ts";
import { Smallest } from "./smallest.ts";

/** Picks the best out of a list. @param many no more than there are */
export function pickFromList(entries: Uint32Array, many: number, ranking: Ranking, term: string): number[] {
  const range = findNameRange(ranking, term);
  const picked = pickBeginning(ranking, range, many);
  for (let at = 0; at < entries.length && picked.length < many; at++) {
    if ((entries[at]! & 1) === 1 && !beginsWithTerm(ranking, range, entries[at]! >>> 1)) {
      picked.push(entries[at]! >>> 1);
    }
  }
  for (let at = 0; at < entries.length && picked.length < many; at++) {
    if ((entries[at]! & 1) === 0) picked.push(entries[at]! >>> 1);
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
  const picked = pickBeginning(ranking, range, many);
  for (let at = 0; at < any.length && picked.length < many; at++) {
    for (let word = flagged[at]!; word !== 0 && picked.length < many; word &= word - 1) {
      const document = at * 32 + lowestBit(word);
      if (!beginsWithTerm(ranking, range, document)) picked.push(document);
    }
  }
  for (let at = 0; at < any.length && picked.length < many; at++) {
    for (let word = any[at]! & ~flagged[at]!; word !== 0 && picked.length < many; word &= word - 1) {
      picked.push(at * 32 + lowestBit(word));
    }
  }
  return picked;
}

/** Picks documents whose names begin with a term, those first that are the term. */
function pickBeginning({ byName }: Ranking, { from, equalEnd, end }: NameRange, many: number): number[] {
  const picked: number[] = [];
  for (let at = from; at < equalEnd && picked.length < many; at++) picked.push(byName[at]!);
  if (picked.length === many || equalEnd === end) return picked;
  if (many > PICKED) {
    const first = byName.slice(equalEnd, end).sort();
    for (let at = 0; at < first.length && picked.length < many; at++) picked.push(first[at]!);
    return picked;
  }
  const first = new Smallest(many - picked.length);
  for (let at = equalEnd; at < end; at++) if (byName[at]! < first.limit) first.add(byName[at]!);
  for (let at = 0; at < first.numbers.length; at++) picked.push(first.numbers[at]!);
  return picked;
}

function beginsWithTerm({ places }: Ranking, { from, end }: NameRange, document: number): boolean {
  // For most queries there is no such name, and no need to go to a place that is anywhere in memory.
  return from < end && places[document]! >= from && places[document]! < end;
}
