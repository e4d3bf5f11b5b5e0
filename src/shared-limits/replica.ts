/** Shared limits of a replica: each thread that serves asks the counter server itself; the main thread reports for all. */

import { type Counters, MOST_SHARED } from "../auth/limit.ts";
import type { CountInThread, SharedCount, SharedLimits } from "../auth/shared.ts";
import type { Observe } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/table.ts";
import { countOf, SharedCounts } from "./counts.ts";
import { importRedis, RedisServer } from "./redis-server.ts";
import { placeOf, type RedisTarget } from "./redis-url.ts";

/** The server is back when it answers, and no question of any thread has failed for so long, in milliseconds. */
const STEADY_MS = 3000;
/** How often a server that is away is asked, in milliseconds. */
const CHECK_MS = 1000;
/** A thread reports failures at most so often, in milliseconds. */
const REPORT_MS = 1000;

/** Name of a count that nobody has, for the first question. */
const NOBODYS = "orrery:{}";

const FIGURES = ["asks", "failures", "alone", "refused"] as const satisfies (keyof SharedLimitsFigures)[];

export interface ReplicaSettings {
  readonly target: RedisTarget;
  readonly replicas: number;
  /** Timeout of an answer in milliseconds; longer in tests on busy machines. */
  readonly answerMs?: number | undefined;
}

/** Of all threads; the arrays are in shared memory. */
interface Handed extends ReplicaSettings {
  /** Counts of {@link FIGURES}. */
  readonly figures: BigInt64Array;
  /** Cells of the requests that were counted alone. */
  readonly alone: BigUint64Array;
}

/** A question had no answer. */
interface Failure {
  readonly problem: string;
  /** Of the count. */
  readonly name: string;
}

/** Begins to count in this thread. @param report is told of failures, not of all */
function startCounting(
  { target, replicas, answerMs, figures, alone }: Handed,
  counters: Counters,
  report: (failure: Failure) => void,
): SharedCount & Pick<RedisServer, "get"> {
  const server = new RedisServer(target, answerMs);
  let reportedAt = Number.NEGATIVE_INFINITY;
  const now = (): number => performance.now();
  const { count, read } = new SharedCounts({
    counters,
    alone: { ...counters, cells: alone },
    replicas,
    server,
    add: (figure) => Atomics.add(figures, FIGURES.indexOf(figure), 1n),
    onFailure(problem, name) {
      if (now() - reportedAt < REPORT_MS) return;
      reportedAt = now();
      report({ problem, name });
    },
    now,
  });
  return { count, read, tried: server.tried, get: (name) => server.get(name), close: () => server.close() };
}

/** Begins to count in a serving thread. @param handed by {@link ReplicaLimits} @param send sends a message to it */
export const countInThread: CountInThread = (handed, counters, send) =>
  startCounting(handed as Handed, counters, send);

export class ReplicaLimits implements SharedLimits {
  readonly handed: Handed;
  readonly server: string;
  since = new Date(performance.timeOrigin).toISOString();
  losses = 0;
  #away: (Failure & { readonly at: number; readonly timer: NodeJS.Timeout }) | undefined;
  #failedAt = 0;
  #isClosed = false;
  #observe: Observe = () => {};
  #get: RedisServer["get"] = async () => undefined;

  constructor(settings: ReplicaSettings) {
    this.server = placeOf(settings.target);
    this.handed = {
      ...settings,
      figures: new BigInt64Array(new SharedArrayBuffer(FIGURES.length * 8)),
      alone: new BigUint64Array(new SharedArrayBuffer(MOST_SHARED * 8)),
    };
  }

  get replicas(): number {
    return this.handed.replicas;
  }

  get problem(): string | null {
    return this.#away?.problem ?? null;
  }

  readonly figures = (): SharedLimitsFigures => {
    const entries = FIGURES.map((name, at) => [name, Number(Atomics.load(this.handed.figures, at))]);
    return Object.fromEntries(entries) as SharedLimitsFigures;
  };

  readonly open = async (counters: Counters, observe: Observe): Promise<SharedCount> => {
    this.#observe = observe;
    await importRedis();
    const counting = startCounting(this.handed, counters, (failure) => this.#lose(failure));
    this.#get = counting.get;
    await counting.tried;
    // A server that could not be reached is reported before the first request.
    await this.#get(NOBODYS).catch((error: Error) => this.#lose({ problem: error.message, name: NOBODYS }));
    const close = (): void => {
      this.#isClosed = true;
      clearInterval(this.#away?.timer);
      counting.close();
    };
    return { ...counting, close };
  };

  readonly take = (message: unknown): void => this.#lose(message as Failure);

  #lose(failure: Failure): void {
    if (this.#isClosed) return;
    const at = performance.now();
    this.#failedAt = at;
    if (this.#away !== undefined) {
      this.#away = { ...this.#away, ...failure };
      return;
    }
    const timer = setInterval(() => void this.#check(), CHECK_MS).unref();
    this.#away = { ...failure, at, timer };
    this.since = new Date().toISOString();
    this.losses++;
    this.#observe({ kind: "limits-away", server: this.server, problem: failure.problem });
  }

  /** Asks for the count of the newest failure. */
  async #check(): Promise<void> {
    const { name, at, timer } = this.#away!;
    try {
      countOf((await this.#get(name)) ?? 0);
    } catch (error) {
      // A newer failure keeps its name.
      this.#lose({ name, ...this.#away, problem: (error as Error).message });
      return;
    }
    const now = performance.now();
    if (this.#isClosed || this.#away?.timer !== timer || now - this.#failedAt < STEADY_MS) return;
    clearInterval(timer);
    this.#away = undefined;
    this.since = new Date().toISOString();
    this.#observe({ kind: "limits-back", server: this.server, ms: Math.round(now - at) });
  }
}
