/** The envelopes around the data. Texts are one char a byte; what is added here is ASCII. */

import { BUSY, type Busy, type Found } from "../store/generation.ts";
import { type Block, rangeText, rowsText, rowText } from "../store/table.ts";
import type { Outcome, Parameters } from "./route.ts";

function page(data: string, total: number, { limit, offset }: Parameters, more = ""): Outcome {
  const pagination = `{"total":${total},"limit":${limit},"offset":${offset}}`;
  return { body: `{"data":[${data}],"pagination":${pagination}${more}}` };
}

/** A text that is JSON already, as a single resource. */
export function one(text: string): Outcome {
  return { body: `{"data":${text}}` };
}

/** One row as a single resource. */
export function oneRow(block: Block, row: number): Outcome {
  return one(rowText(block, row));
}

/** A page of a whole table, in list order. */
export function tablePage(block: Block, parameters: Parameters): Outcome {
  const from = Math.min(parameters.offset, block.rows);
  const to = Math.min(from + parameters.limit, block.rows);
  return page(rangeText(block, from, to), block.rows, parameters);
}

/**
 * A page of some rows, in their order.
 *
 * @param more what follows the pagination, comma first
 */
export function rowsPage(block: Block, rows: Uint32Array, parameters: Parameters, more = ""): Outcome {
  const from = Math.min(parameters.offset, rows.length);
  const shown = rows.subarray(from, Math.min(from + parameters.limit, rows.length));
  return page(rowsText(block, shown), rows.length, parameters, more);
}

/**
 * The page that a search gives, or will give.
 *
 * @param tail bytes to leave off each row; see {@link rowsText}
 * @param more what follows the pagination, comma first
 */
export function foundPage(
  block: Block,
  found: Found | Busy | Promise<Found | Busy>,
  parameters: Parameters,
  tail = 0,
  more = "",
): Outcome | Promise<Outcome> {
  if (found instanceof Promise) return found.then((later) => foundPage(block, later, parameters, tail, more));
  if (found === BUSY) return { fault: "busy" };
  const text = found.text ?? rowsText(block, found.rows, tail);
  found.keepText?.(text);
  return page(text, found.total, parameters, more);
}
