/** Sorting found worlds into match classes. */

import { sharedUint16 } from "../store/bytes.ts";
import { bitWords, lowestBit } from "./bits.ts";
import type { DocumentSet } from "./documents.ts";
import { BitMatches, ListedMatches, type Matches } from "./matches.ts";
import { STEP, type Work } from "./slices.ts";
import { lengthOf, type Texts } from "./units.ts";

/** What found documents are ranked by. All of it lies in shared memory. */
export interface Ranking {
  readonly names: Texts;
  readonly heads: Heads;
  /** What stands for each document in a result. */
  readonly rows: Uint32Array;
}

/**
 * Orders documents by how they match: name is the term, begins with it,
 * contains it, and only the description contains it. Among equals they stay in
 * document order.
 *
 * No callbacks: two searches with different ones would make every call in these loops a slow one.
 *
 * @param term the whole query
 */
export function* rank(found: DocumentSet, ranking: Ranking, term: string): Work<Matches> {
  if (found.kind === "list" && found.entries.length <= FEW) return rankList(found.entries, ranking, term);
  return yield* rankBits(
    found.kind === "list" ? yield* toBits(found.entries, ranking) : found,
    ranking,
    term,
  );
}

/** Up to so many documents are listed at once. */
const FEW = 8192;

/** Lists documents by their entries. */
export function rankList(entries: Uint32Array, ranking: Ranking, term: string): Matches {
  const { rows } = ranking;
  const equal: number[] = [];
  const first: number[] = [];
  const inName: number[] = [];
  for (let at = 0; at < entries.length; at++) {
    if ((entries[at]! & 1) === 0) continue;
    const document = entries[at]! >>> 1;
    const match = matchOf(ranking, document, term);
    (match === EQUAL ? equal : match === FIRST ? first : inName).push(rows[document]!);
  }
  const ranked = new Uint32Array(entries.length);
  let to = 0;
  for (const part of [equal, first, inName])
    for (let at = 0; at < part.length; at++) ranked[to++] = part[at]!;
  for (let at = 0; at < entries.length; at++) {
    if ((entries[at]! & 1) === 0) ranked[to++] = rows[entries[at]! >>> 1]!;
  }
  return new ListedMatches(ranked);
}

type BitSet = Extract<DocumentSet, { kind: "bits" }>;

/** A list as bits. */
function* toBits(entries: Uint32Array, { names }: Ranking): Work<BitSet> {
  const any = new Uint32Array(bitWords(names.count));
  const inName = new Uint32Array(any.length);
  let named = 0;
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]!;
    any[entry >>> 6]! |= 1 << (entry >>> 1);
    inName[entry >>> 6]! |= (entry & 1) << (entry >>> 1);
    named += entry & 1;
    if (at % STEP === STEP - 1) yield;
  }
  return { kind: "bits", any, inName, size: entries.length, named };
}

/** Words of bits between two yields. */
const WORDS = STEP / 32;

function* rankBits({ any, inName, size, named }: BitSet, ranking: Ranking, term: string): Work<Matches> {
  const equal: number[] = [];
  const first: number[] = [];
  for (let at = 0; at < inName.length; at++) {
    for (let word = inName[at]!; word !== 0; word &= word - 1) {
      const document = at * 32 + lowestBit(word);
      const match = matchOf(ranking, document, term);
      if (match !== REST) (match === EQUAL ? equal : first).push(document);
    }
    if (at % WORDS === WORDS - 1) yield;
  }
  const best = new Uint32Array(equal.length + first.length);
  best.set(equal);
  best.set(first, equal.length);
  let butNot: Uint32Array | undefined;
  if (best.length > 0) {
    butNot = new Uint32Array(any.length);
    for (let at = 0; at < best.length; at++) butNot[best[at]! >>> 5]! |= 1 << best[at]!;
  }
  const classes = [
    { count: named - best.length, bits: inName, butNot },
    { count: size - named, bits: any, butNot: inName },
  ];
  return new BitMatches(best, classes, ranking.rows);
}

/**
 * The beginnings of names: four numbers a name, its first three units and how
 * many it has in all. They tell how a short term matches without a look at the
 * text, which lies elsewhere: ranking 30,000 names takes half the time.
 */
export type Heads = Uint16Array;

const HEAD_UNITS = 3;
const HEAD = HEAD_UNITS + 1;
/** Stands for this many units and more; no term is as long. */
const LONG = 0xffff;

/** Takes the beginnings of names. */
export function headsOf(names: Texts): Heads {
  const heads = sharedUint16(names.count * HEAD);
  for (let name = 0; name < names.count; name++) {
    const length = lengthOf(names, name);
    for (let unit = 0; unit < HEAD_UNITS && unit < length; unit++) {
      heads[name * HEAD + unit] = names.units[names.starts[name]! + unit]!;
    }
    heads[name * HEAD + HEAD_UNITS] = Math.min(length, LONG);
  }
  return heads;
}

export const EQUAL = 0;
export const FIRST = 1;
export const REST = 2;

/** How a document's name, which contains every term of a query, matches the whole of it. */
export function matchOf({ names, heads }: Ranking, document: number, term: string): number {
  const head = document * HEAD;
  const units = heads[head + HEAD_UNITS]!;
  if (units < term.length) return REST;
  for (let unit = 0; unit < HEAD_UNITS && unit < term.length; unit++) {
    if (heads[head + unit] !== term.charCodeAt(unit)) return REST;
  }
  const start = names.starts[document]!;
  for (let unit = HEAD_UNITS; unit < term.length; unit++) {
    if (names.units[start + unit] !== term.charCodeAt(unit)) return REST;
  }
  return units === term.length ? EQUAL : FIRST;
}
