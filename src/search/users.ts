/** Search over display names. Documents are user rows, so document order is list order. */

import { countUp } from "../store/order.ts";
import { type DocumentSet, entriesOf } from "./documents.ts";
import { fold } from "./fold.ts";
import { nameAt, packNames, type Ranking, Rooms, rank } from "./ranked.ts";
import { STEP, type Work } from "./slices.ts";
import { findAll, findDocuments, WHITE_SPACE, type WordIndex, WordIndexBuilder } from "./words.ts";

/** The index over all users. */
export interface UserIndex {
  readonly words: WordIndex;
  readonly ranking: Ranking;
}

/**
 * Indexes users.
 *
 * @param nameOf display name by row
 */
export function indexUsers(rows: number, nameOf: (row: number) => string): UserIndex {
  const builder = new WordIndexBuilder();
  const names: string[] = [];
  for (let row = 0; row < rows; row++) {
    const name = fold(nameOf(row));
    names.push(name);
    builder.beginDocument();
    builder.addField(name, true);
  }
  const ranking = { names: packNames(names), rows: countUp(rows), rooms: new Rooms(rows) };
  return { words: builder.finish(), ranking };
}

/** Those of a set whose name contains a term. */
function* filterByName(found: DocumentSet, { names, rooms }: Ranking, term: string): Work<DocumentSet> {
  const room = rooms.take();
  const entries = yield* entriesOf(found, room.entries);
  const kept: number[] = [];
  for (let at = 0; at < entries.length; at++) {
    if (nameAt(names, entries[at]! >>> 1).includes(term)) kept.push(entries[at]!);
    if (at % FILTER_STEP === FILTER_STEP - 1) yield;
  }
  rooms.giveBack(room);
  return { kind: "list", entries: Uint32Array.from(kept) };
}

/** To cut out a name and to look through it takes about as long as sixteen accesses to memory. */
const FILTER_STEP = STEP / 16;

/**
 * Finds the users whose folded name contains a term.
 *
 * @param term folded and trimmed, not empty
 * @returns user rows: names equal to the term, names that begin with it, the rest
 */
export function* searchUsers({ words, ranking }: UserIndex, term: string): Work<Uint32Array<ArrayBuffer>> {
  const parts = term.split(WHITE_SPACE);
  if (parts.length === 1) return yield* rank(yield* findDocuments(words, term), ranking, term);
  // A term with white space spans words: its parts find candidates, the name decides.
  const candidates = yield* findAll(words, [...new Set(parts)]);
  return yield* rank(yield* filterByName(candidates, ranking, term), ranking, term);
}
