/** Similar search as it should be, the slow way. It shares no code with the server. */

import { modelFold } from "./model.ts";

/** Edits that a query of so many code points may be away. */
export function modelEdits(query: string): number {
  const { length } = [...query];
  if (length < 3) return 0;
  return length < 6 ? 1 : 2;
}

/** Optimal string alignment, straight from its recurrence, between a query and a text from and to given places. */
function alignment(query: readonly string[], text: readonly string[], isSubstring: boolean): number {
  const table = query.map(() => new Array<number>(text.length + 1).fill(0));
  table.push(new Array<number>(text.length + 1).fill(0));
  for (let row = 0; row <= query.length; row++) {
    for (let at = 0; at <= text.length; at++) {
      if (row === 0) table[0]![at] = isSubstring ? 0 : at;
      else if (at === 0) table[row]![0] = row;
      else {
        const options = [
          table[row - 1]![at]! + 1,
          table[row]![at - 1]! + 1,
          table[row - 1]![at - 1]! + (query[row - 1] === text[at - 1] ? 0 : 1),
        ];
        if (row > 1 && at > 1 && query[row - 1] === text[at - 2] && query[row - 2] === text[at - 1]) {
          options.push(table[row - 2]![at - 2]! + 1);
        }
        table[row]![at] = Math.min(...options);
      }
    }
  }
  return isSubstring ? Math.min(...table[query.length]!) : table[query.length]![text.length]!;
}

/** Distance between a query and the nearest substring of a text. */
export function modelSubstringDistance(query: string, text: string): number {
  return alignment([...query], [...text], true);
}

/** Distance between a query and a whole text. */
export function modelWholeDistance(query: string, text: string): number {
  return alignment([...query], [...text], false);
}

/** Class of a name in a search of users, or of worlds. Lower is better. */
export function modelClass(name: string, term: string, isWorld: boolean): number {
  const folded = modelFold(name);
  if (folded === term) return 0;
  if (folded.startsWith(term)) return 1;
  if (!isWorld) return 2;
  const terms = term.split(/\s+/u).slice(0, 10);
  return terms.every((one) => folded.includes(one)) ? 2 : 3;
}
