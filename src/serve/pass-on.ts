/** How the main thread passes on the long searches of a thread that serves. */

import { BUSY, type Busy, type Found, type Generation } from "../store/generation.ts";
import type { AskedOf } from "./serving-messages.ts";
import type { SearchAnswer, SearchRequest } from "./thread-messages.ts";

/** Takes what a thread asks. */
export type PassOn = (batch: AskedOf) => void;

/**
 * Makes the way of one thread's searches.
 *
 * @param generationOf undefined when it is gone
 * @param isAlive whether the thread is
 * @param tell gives it answers, in batches
 */
export function createPassOn(
  generationOf: (generation: number) => Generation | undefined,
  isAlive: () => boolean,
  tell: (generation: number, answers: readonly SearchAnswer[]) => void,
): PassOn {
  /** By generation and number, what is under way; those that nobody waits for any more are false. */
  const isWanted = new Map<string, boolean>();
  const ready = new Map<number, SearchAnswer[]>();

  function give(generation: number, answer: SearchAnswer): void {
    const answers = ready.get(generation);
    if (answers !== undefined) {
      answers.push(answer);
      return;
    }
    ready.set(generation, [answer]);
    setImmediate(() => {
      tell(generation, ready.get(generation)!);
      ready.delete(generation);
    });
  }

  async function find(generation: number, request: SearchRequest, name: string): Promise<void> {
    const { number, key, term, page } = request;
    try {
      const asked = generationOf(generation);
      const isGone = (): boolean => !isWanted.get(name) || !isAlive();
      const search = request.similar ? asked?.similar : asked?.search;
      const found: Found | Busy | undefined = await search?.[request.name](term, page, { key, isGone });
      if (found === undefined) give(generation, { number, over: true });
      // A copy of the page alone: the rows are a view of all that was found.
      else if (found !== BUSY) {
        give(generation, { number, found: { total: found.total, rows: found.rows.slice() } });
      }
    } catch (error) {
      give(generation, { number, problem: String(error) });
    } finally {
      isWanted.delete(name);
    }
  }

  return ({ generation, asked, dropped }) => {
    for (const number of dropped) {
      const name = `${generation} ${number}`;
      if (isWanted.has(name)) isWanted.set(name, false);
    }
    for (const request of asked) {
      const name = `${generation} ${request.number}`;
      isWanted.set(name, true);
      void find(generation, request, name);
    }
  };
}
