/** The bodies of replies: envelopes, which are ASCII, around the data; and the common part of both searches. */

import { type Slices, sliceAll } from "../../model/body.ts";
import { readTerm } from "../../search/fold.ts";
import { BUSY, type Busy, type Found, type FoundSimilar, type SearchName } from "../../store/generation.ts";
import { type Block, type Cut, rowText, sliceRange, sliceRows } from "../../store/table.ts";
import type { Call, Outcome, Parameters } from "./route.ts";

const HEAD = '{"data":[';

function page(data: Slices | string, total: number, { limit, offset }: Parameters, more = ""): Outcome {
  const end = `],"pagination":{"total":${total},"limit":${limit},"offset":${offset}}${more}}`;
  if (typeof data === "string") return { body: HEAD + data + end };
  if (data.length === 0) return { body: HEAD + end };
  return { body: { length: HEAD.length + data.length + end.length, head: HEAD, slices: data, end } };
}

/** A JSON text as a single resource. */
export function oneText(text: string): Outcome {
  return { body: `{"data":${text}}` };
}

/** Bun sends bytes fastest, other runtimes a short text. */
const PREFERS_BYTES = process.versions.bun !== undefined;

const ONE_HEAD = '{"data":';
const ONE_END = "}";

export function oneRow(block: Block, row: number): Outcome {
  if (!PREFERS_BYTES) return oneText(rowText(block, row));
  const slices = sliceRange(block, row, row + 1);
  return {
    body: { length: ONE_HEAD.length + slices.length + ONE_END.length, head: ONE_HEAD, slices, end: ONE_END },
  };
}

/** A page of a whole table, in list order. @param total if the table goes on @param more text after the pagination, comma first */
export function tablePage(block: Block, parameters: Parameters, total = block.rows, more = ""): Outcome {
  const from = Math.min(parameters.offset, total);
  const to = Math.min(from + parameters.limit, total);
  return page(sliceRange(block, from, to), total, parameters, more);
}

/** A page of some rows, in their order. @param more text after the pagination, comma first */
export function rowsPage(block: Block, rows: Uint32Array, parameters: Parameters, more = ""): Outcome {
  const from = Math.min(parameters.offset, rows.length);
  const shown = rows.subarray(from, Math.min(from + parameters.limit, rows.length));
  return page(sliceRows(block, shown), rows.length, parameters, more);
}

/** A page of a ranking: of the copies of its first rows, as far as they go. @param more text after the pagination, comma first */
export function rankingPage(
  block: Block,
  ranking: Uint32Array,
  first: Block,
  parameters: Parameters,
  more: string,
): Outcome {
  const end = Math.min(parameters.offset + parameters.limit, ranking.length);
  if (end > first.rows) return rowsPage(block, ranking, parameters, more);
  return tablePage(first, parameters, ranking.length, more);
}

/** A page of a search, at once or later. @param more text after the pagination, comma first */
function foundPage(
  block: Block,
  found: Found | Busy | Promise<Found | Busy>,
  parameters: Parameters,
  cut?: Cut,
  more = "",
): Outcome | Promise<Outcome> {
  if (found instanceof Promise) return found.then((later) => foundPage(block, later, parameters, cut, more));
  if (found === BUSY) return { fault: "busy" };
  const { json, keepJson, total } = found;
  if (json !== undefined)
    return page(typeof json === "string" ? json : sliceAll(json), total, parameters, more);
  const slices = sliceRows(block, found.rows, cut);
  keepJson?.(slices);
  return page(slices, total, parameters, more);
}

/** Marks an exact answer in place of a similar one, which may find more later in the same generation. */
function passing(outcome: Outcome): Outcome {
  return "fault" in outcome ? outcome : { ...outcome, isPassing: true };
}

/** Answers a search. Until there is an index of similar names, the exact search answers in its place and says so. */
export function searchPage(
  table: SearchName,
  block: Block,
  call: Call,
  cut?: Cut,
): Outcome | Promise<Outcome> {
  const { search, similar, parameters } = call;
  const term = readTerm(parameters.q);
  if (term === "") return { fault: "noQuery" };
  const exact = (): Found | Busy | Promise<Found | Busy> => search(table, term, parameters, call);
  if (parameters.match !== "similar" || similar === undefined) {
    return foundPage(block, exact(), parameters, cut);
  }
  const show = (found: FoundSimilar): Outcome | Promise<Outcome> => {
    if (found !== undefined) return foundPage(block, found, parameters, cut, ',"match":"similar"');
    const instead = foundPage(block, exact(), parameters, cut, ',"match":"exact"');
    return instead instanceof Promise ? instead.then(passing) : passing(instead);
  };
  const { limit, offset } = parameters;
  const found = similar(table, term, { limit, offset }, call);
  return found instanceof Promise ? found.then(show) : show(found);
}
