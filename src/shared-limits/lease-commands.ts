/** Questions for leases as commands of a server, and reading its answers. */

import type { LeaseAnswer, LeaseAsk } from "./answers.ts";
import { SLOTS, slotOfKey } from "./cluster-slots.ts";
import { AwayError } from "./link.ts";

/** Name of the state of an API key. The braces make the id alone decide on which server of a cluster it lies. */
export function stateKey(keyId: string, seconds: number): string {
  return `orrery:{${keyId}}:${seconds}`;
}

/** Name of a state that belongs to no API key and lies in one of the slots, for checking whether their server can count. */
export function checkKey(holds: (slot: number) => boolean, seconds: number): string {
  for (let number = 0; ; number++) {
    const key = stateKey(`check:${number}`, seconds);
    if (number > 64 * SLOTS || holds(slotOfKey(key))) return key;
  }
}

/** The arguments of the script. @param seconds length of a window */
export function argumentsOf(seconds: number, replica: string, ask: LeaseAsk): string[] {
  const { limit, window, have, used, want } = ask;
  return [seconds, replica, limit, window, have, used, want].map(String);
}

/** Windows end before this, in seconds since the epoch: cells have room for no others. */
const LAST_SECOND = 2 ** 32;

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Reads what the script returned. @throws {AwayError} when that is no lease */
export function readAnswer(answer: unknown, seconds: number): LeaseAnswer {
  const numbers: readonly unknown[] = Array.isArray(answer) ? answer : [];
  const [window, total, rest, msLeft] = numbers;
  const isLease = isCount(window) && isCount(total) && isCount(rest) && isCount(msLeft);
  if (!isLease || numbers.length !== 4 || (window + 1) * seconds > LAST_SECOND)
    throw new AwayError("the server answered something else than a lease");
  return { window, total, rest, msLeft };
}
