/** The API as the app of a listener: answers by the pipeline, refuses in the API's words, and counts requests. */

import { answer, isServed, type State } from "../api/answer.ts";
import { BARE_FAULT_HEADERS, FAULT_BODIES } from "../api/headers.ts";
import { FAULTS, type FaultName } from "../model/fault.ts";
import type { Ask, Peer, Reply } from "../model/message.ts";
import { countAborted, countAnswered, countBegun, countRefused } from "../observe/metrics/counters.ts";

/** A refusal before the API is reached: no CORS headers. */
function bareReply(fault: FaultName, isHead: boolean): Reply {
  const { status } = FAULTS[fault];
  const body = isHead ? "" : FAULT_BODIES[fault];
  return { status, headers: BARE_FAULT_HEADERS[fault], body, route: "", keyId: "", fault };
}

export function createApiApp(state: State) {
  const { requestCounters: counters } = state;

  function refuse(fault: FaultName, peer: Peer, ask: Ask | undefined): Reply {
    const reply = bareReply(fault, ask?.method === "HEAD");
    // A request with a head was already counted when it began.
    if (counters !== undefined && ask === undefined) countRefused(counters, reply.status, fault);
    const logged = ask ?? { method: "", target: "", peer, now: Date.now() };
    return state.accessLog?.record(logged, reply, performance.now()) ?? reply;
  }

  return {
    answer: (ask: Ask) => answer(ask, state),
    refuse,
    serves: (target: string) => isServed(target, state),
    begin(): number {
      if (counters === undefined) return 0;
      countBegun(counters);
      return performance.now();
    },
    answered(began: number, method: string, reply: Reply): void {
      if (counters !== undefined) countAnswered(counters, began, method, reply);
    },
    aborted(began: number, method: string, { route }: Reply): void {
      if (counters !== undefined) countAborted(counters, began, method, route);
    },
  };
}
