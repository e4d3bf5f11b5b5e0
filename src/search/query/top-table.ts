/** Looks an n-gram up in the top-k table, by its hash. */

import type { PageOf } from "../../store/generation.ts";
import { lengthOf } from "../shared/texts.ts";
import { hashOfNgram, TABLE_K, type TopTable } from "../shared/top-table.ts";
import { PartialResults, type ResultSet } from "./result-set.ts";

/** The number of an n-gram, or -1. */
function numberOf({ ngrams, slots }: TopTable, ngram: string): number {
  const mask = slots.length - 1;
  for (let slot = hashOfNgram(ngram) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
    const number = slots[slot]! - 1;
    const start = ngrams.starts[number]!;
    if (lengthOf(ngrams, number) !== ngram.length) continue;
    let at = 0;
    while (at < ngram.length && ngrams.units[start + at] === ngram.charCodeAt(at)) at++;
    if (at === ngram.length) return number;
  }
  return -1;
}

/** The results of an n-gram, if a page of them is known beforehand. */
export function lookUpTop(table: TopTable, ngram: string, { limit, offset }: PageOf): ResultSet | undefined {
  const number = numberOf(table, ngram);
  if (number < 0) return undefined;
  const total = table.totals[number]!;
  const kept = Math.min(total, TABLE_K);
  if (kept < total && offset + limit > kept) return undefined;
  const start = table.starts[number]!;
  return new PartialResults({ total, rows: table.best.subarray(start, start + kept) }, 0);
}
