/**
 * Keeping the counts of the running window in a file (`--state`), so that a restart gives no key a new window.
 *
 * Two servers may run with the same file, for a moment, when one takes the other's place. Then the one that was started
 * first writes it. The other adds what that one has counted since to its own counts, and writes as soon as the file
 * says that it was the last, or no longer changes. So counts pass on whole, none twice, and no lock outlives a process.
 */

import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeLeftovers } from "../files/atomic.ts";
import { behindLinks, ForeignFileError } from "../files/foreign.ts";
import type { Observe } from "../observe/events.ts";
import { codeOf, systemErrorText } from "../util/system-error.ts";
import { readHead, sumOfCounts, writeCounts } from "./counts-file.ts";
import { CountsFileError, type CountsHead } from "./counts-format.ts";
import { type Counters, windowAt } from "./limit.ts";
import { createTaker } from "./take-counts.ts";

/** Between two files. Writing one takes time, too, and a kill may cost the counts of five seconds. */
const EVERY_MS = 4500;
/** Between two looks at the file while another server writes it: it is taken over before a third one can find it. */
const FOLLOW_MS = 50;
/** How long a stop waits for the last file. */
const LAST_MS = 2000;
/** A temporary file older than this is abandoned: writing one takes far less. */
const LEFTOVER_MS = 60_000;

/** The keeper of one file. */
export interface CountsKeeper {
  /** From now on writes the file; to be called when requests are accepted. */
  readonly begin: () => void;
  /** Writes it for the last time; to be called when all requests were answered. */
  readonly stop: () => Promise<void>;
}

/** How to keep counts. */
export interface KeepCountsOptions {
  readonly file: string;
  readonly counters: Counters;
  readonly observe: Observe;
  /** Between two files, in milliseconds. */
  readonly everyMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Likewise, by the clock that windows are cut by where that is another. */
  readonly windowClock?: () => number;
}

function problemOf(error: unknown): string {
  if (error instanceof CountsFileError || error instanceof ForeignFileError) return error.message;
  return systemErrorText(error) ?? String(error);
}

/**
 * Takes up the counts of a file and makes its keeper.
 *
 * Never rejects: a file of counts that cannot be used is observed and later replaced, a file of something else is observed
 * and left as it is.
 */
export async function keepCounts(options: KeepCountsOptions): Promise<CountsKeeper> {
  const { counters, observe, everyMs = EVERY_MS, now = Date.now, windowClock = now } = options;
  const file = await behindLinks(options.file).catch(() => resolve(options.file));
  const self = { writer: randomBytes(8).toString("hex"), started: now() };
  const followMs = Math.min(FOLLOW_MS, everyMs);
  const take = createTaker(counters, windowClock);
  let sequence = 0;
  /** First line of the newest file of another server that was taken up. */
  let seen: CountsHead | undefined;
  /** Since when, in milliseconds of the monotonic clock. */
  let seenAt = 0;
  /** Window and sum of what was written last. */
  let saved = "";
  let problem = "";
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  const isSeen = ({ writer, sequence: number }: CountsHead): boolean =>
    seen?.writer === writer && seen.sequence === number;

  /** Takes up what a server that was started earlier has written; says whether that one goes on writing. */
  async function follow(): Promise<boolean> {
    const head = await readHead(file).catch(() => undefined);
    // Gone, damaged or of another server: it must be written again.
    if (head?.writer !== self.writer) saved = "";
    if (head === undefined || head.started >= self.started) return false;
    if (!isSeen(head)) {
      seenAt = performance.now();
      seen = await take(file).then(
        (found) => found.head,
        () => undefined,
      );
    }
    return seen?.last === false && performance.now() - seenAt < everyMs;
  }

  async function write(last: boolean): Promise<void> {
    const window = windowAt(counters, windowClock());
    const sum = `${window} ${await sumOfCounts(counters, window)} ${last}`;
    if (sum === saved) return;
    const { windowSeconds } = counters;
    await writeCounts(file, { windowSeconds, window, ...self, sequence: ++sequence, last }, counters);
    saved = sum;
  }

  /** Whether another server writes the file, or may be about to. */
  let isFollowing = false;
  async function save(last: boolean): Promise<void> {
    try {
      isFollowing = await follow();
      if (isFollowing && !last) return;
      await write(last);
      if (problem !== "") observe({ kind: "state-recovered", file });
      problem = "";
    } catch (error) {
      const before = problem;
      problem = problemOf(error);
      if (problem !== before) observe({ kind: "state-failed", file, problem });
    }
  }

  /** One at a time. */
  let saving: Promise<void> = Promise.resolve();
  function saveNext(last: boolean): Promise<void> {
    saving = saving
      .then(() => save(last))
      .catch((error: unknown) => observe({ kind: "defect", where: "state", error }));
    return saving;
  }

  async function tick(): Promise<void> {
    const began = performance.now();
    await saveNext(false);
    const pause = isFollowing ? followMs : everyMs - (performance.now() - began);
    if (!isOver) timer = setTimeout(tick, Math.max(0, pause));
  }

  try {
    const { head, keys } = await take(file);
    seen = head;
    seenAt = performance.now();
    isFollowing = !head.last;
    const reset = (windowAt(counters, windowClock()) + 1) * counters.windowSeconds;
    observe({ kind: "state-restored", file, keys, reset });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") {
      const isOld = error instanceof CountsFileError && error.isOld;
      observe({ kind: "state-refused", file, problem: problemOf(error), ...(isOld ? { isOld } : {}) });
    }
  }
  await removeLeftovers(file, LEFTOVER_MS);
  return {
    begin() {
      timer = setTimeout(tick, isFollowing ? followMs : 0);
    },
    async stop() {
      isOver = true;
      clearTimeout(timer);
      if (timer === undefined) return;
      // A disk that hangs must not hold up the end.
      const patience = new AbortController();
      await Promise.race([
        saveNext(true),
        sleep(LAST_MS, undefined, { signal: patience.signal }).catch(() => {}),
      ]);
      patience.abort();
    },
  };
}
