/** A progress bar on a terminal's standard error; nothing elsewhere. */

import type { World } from "./commands.ts";

const WIDTH = 30;
/** What is over sooner than this needs no bar. */
const PATIENCE_MS = 400;

/** A bar under way. */
export interface ProgressBar {
  /** Shows a share, from 0 to 1. */
  readonly show: (share: number) => void;
  /** Takes the bar away. */
  readonly end: () => void;
}

/** Starts a bar with a word on what is going on. */
export function startProgress({ isTerminal, complain }: World, what: string): ProgressBar {
  const began = performance.now();
  let shown = -1;
  return {
    show(share) {
      const percent = Math.floor(share * 100);
      if (!isTerminal || percent === shown || performance.now() - began < PATIENCE_MS) return;
      shown = percent;
      const full = Math.round(share * WIDTH);
      const bar = `${"#".repeat(full)}${"-".repeat(WIDTH - full)}`;
      complain(
        `\r${what} [${bar}] ${String(percent).padStart(3)} %${percent === 100 ? ", sorting and indexing" : ""}`,
      );
    },
    end() {
      if (shown >= 0) complain("\r\u001b[K");
    },
  };
}
