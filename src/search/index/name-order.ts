/** Sorts all names once, so that a query finds those that begin with it by halving. */

import { sharedUint32 } from "../../store/bytes.ts";
import type { NameOrder } from "../shared/name-order.ts";
import type { Texts } from "../shared/texts.ts";
import { reorderTexts, sortTexts } from "./sort-texts.ts";

/** Sorts documents by their names. @param rows what stands for each document in a result */
export function orderNames(names: Texts, rows: Uint32Array): NameOrder {
  const byName = sharedUint32(names.count);
  byName.set(sortTexts(names));
  const ranks = sharedUint32(names.count);
  for (let rank = 0; rank < byName.length; rank++) ranks[byName[rank]!] = rank;
  return { names: reorderTexts(names, byName), byName, ranks, rows };
}
