/** Taking up the counts of a file: those of the running window, each once however often it is read. */

import { readCounts } from "./counts-file.ts";
import { CountsFileError, type CountsHead } from "./counts-format.ts";
import { addUsage, type Counters, slotOf, windowAt } from "./limit.ts";

/** Keys of the file that the keys file does not have at the moment, and may have again; of more the counts are dropped. */
const MAX_UNKNOWN = 65_536;
/** Above so many keys no unknown ones are added. */
const MAX_SLOTS = 1_000_000;

/** Counts of files that are in the counters already, by slot. */
interface Taken {
  windows: Float64Array;
  used: Float64Array;
}

function enlarged(values: Float64Array, length: number): Float64Array {
  if (length <= values.length) return values;
  const larger = new Float64Array(Math.max(length, values.length * 2));
  larger.set(values);
  return larger;
}

/** Makes what adds the counts of files to the counters. */
export function createTaker(counters: Counters, now: () => number): (file: string) => Promise<TakenFile> {
  const taken: Taken = { windows: new Float64Array(0), used: new Float64Array(0) };

  function checkHead({ windowSeconds, window }: CountsHead): void {
    if (windowSeconds !== counters.windowSeconds) {
      throw new CountsFileError(`is of windows of ${windowSeconds} s, not of ${counters.windowSeconds} s`);
    }
    const current = windowAt(counters, now());
    // A count may be one window ahead of its file.
    if (window < current - 1) throw new CountsFileError("is of a window that is over", true);
    // A clock that was set back a little gives nothing back. One that was set back further was wrong before.
    if (window > current + 1) throw new CountsFileError("is of a window that is far from having begun");
  }

  /** Adds what was not taken before. */
  function add(slot: number, window: number, used: number): void {
    taken.windows = enlarged(taken.windows, slot + 1);
    taken.used = enlarged(taken.used, slot + 1);
    const known = taken.windows[slot] === window ? taken.used[slot]! : 0;
    if (used <= known || window < taken.windows[slot]!) return;
    addUsage(counters, slot, window, used - known);
    taken.windows[slot] = window;
    taken.used[slot] = used;
  }

  return async (file) => {
    const current = windowAt(counters, now());
    const slots: number[] = [];
    const windows: number[] = [];
    const used: number[] = [];
    const unknown: { id: string; window: number; used: number }[] = [];
    const head = await readCounts(file, checkHead, (count, { window: base }) => {
      const window = base + count.ahead;
      if (window !== current && window !== current + 1) return;
      const slot = counters.slots.get(count.id);
      if (slot !== undefined) {
        slots.push(slot);
        windows.push(window);
        used.push(count.used);
      } else if (unknown.length < MAX_UNKNOWN && counters.slots.size + unknown.length < MAX_SLOTS) {
        unknown.push({ id: count.id, window, used: count.used });
      }
    });
    const keys = slots.length + unknown.length;
    if (keys === 0 && head.window < current) throw new CountsFileError("is of a window that is over", true);
    for (const [at, slot] of slots.entries()) add(slot, windows[at]!, used[at]!);
    for (const count of unknown) add(slotOf(counters, count.id), count.window, count.used);
    return { head, keys };
  };
}

/** What was taken up: the file's first line, and how many keys have counts of the running window. */
export interface TakenFile {
  readonly head: CountsHead;
  readonly keys: number;
}
