/**
 * Shared limits of a replica: one thread asks the counter server for all threads, and stores the answers in the leases,
 * which all threads share.
 */

import { randomBytes } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { type Counters, windowAt } from "../auth/limit.ts";
import type { LimitSharing, SharedQuota } from "../auth/shared.ts";
import type { SharedLimitsFigures } from "../observe/metrics/table.ts";
import { Coalesced } from "../util/process/coalesced.ts";
import { Asking, makeAsk } from "./asking.ts";
import { type OpenConnection, openConnection } from "./connection.ts";
import { type CounterEvents, CounterServer } from "./counter-server.ts";
import type { LeaseAsk } from "./lease-script.ts";
import { type Clocks, createLeases, type Leases, readTally } from "./leases.ts";
import { monotonic, startRealTimer } from "./monotonic.ts";
import { readShared } from "./permits.ts";
import type { RedisTarget } from "./redis-url.ts";
import type { ServersAway } from "./servers-away.ts";
import { type PermitAnswer, type PermitQuestion, WaitingRequests } from "./waiting.ts";

export interface SharedLimitsSettings {
  readonly target: RedisTarget;
  readonly replicas: number;
  readonly denies: boolean;
  readonly open?: OpenConnection;
  /** Timeout of an answer and of a waiting request, in milliseconds; longer in tests on busy machines. */
  readonly answerMs?: number;
  readonly waitMs?: number;
}

const RELEASE_MS = 500;

/** Number of keys to report at a time: of all at once a server would answer the last ones too late, and count as away. */
const AT_ONCE = 64;

function ignore(): void {}

const now = (): Clocks => ({ mono: monotonic(), wall: Date.now() });

type Server = Pick<CounterServer, "tried" | "isUp" | "lease" | "close">;

export class SharedLimitsKeeper implements LimitSharing {
  readonly leases: Leases;
  readonly limits: WaitingRequests;
  readonly #counters: Counters;
  readonly #server: Server;
  readonly #asking: Asking;
  readonly #names: string[] = [];
  readonly #reports = new Coalesced(() => this.#forKeys((...key) => this.#reportAgain(...key)));
  #isClosed = false;

  /** Begins to connect. @param counters in shared memory @param serve creates the server; simulations pass their own */
  constructor(
    settings: SharedLimitsSettings,
    counters: Counters,
    away: ServersAway,
    serve: (events: CounterEvents) => Server,
  ) {
    this.#counters = counters;
    const leases = createLeases(counters, settings.replicas, settings.denies);
    this.leases = leases;
    this.#asking = new Asking(leases, {
      now,
      lease: (slot, asked, settle, onLate) => {
        this.#server.lease(this.#nameOf(slot), asked, onLate).then(settle, () => settle(undefined));
      },
    });
    this.limits = new WaitingRequests(leases, {
      waitMs: settings.waitMs,
      mono: monotonic,
      ask: (slot, limit, want, since) => this.#asking.ask(slot, limit, want, this.#settle, since),
      startTimer: startRealTimer,
    });
    this.#server = serve({
      onAway: (server, problem) => away.lose(server, problem),
      onBack: (server) => away.comeBack(server),
      onUp: () => void this.#reports.ask(),
      onClock(offset) {
        leases.clock[0] = offset;
      },
    });
  }

  /** Resolves when the server has answered or could not be reached. */
  tried(): Promise<void> {
    return this.#server.tried();
  }

  get handed(): unknown {
    return this.leases;
  }

  clockMs(): number {
    return this.leases.clock[0]!;
  }

  figures(): SharedLimitsFigures {
    const { asks, failures } = this.#asking;
    return { asks, failures, ...readTally(this.leases) };
  }

  connect(reply: (message: unknown) => void): (message: unknown) => void {
    // One function for all messages, so that a thread receives each answer once.
    const notify = (slot: number, sent: number | undefined): void =>
      reply({ slot, sent } satisfies PermitAnswer);
    return (message) => {
      const { slot, limit, want, since } = message as PermitQuestion;
      this.#asking.ask(slot, limit, want, notify, since);
    };
  }

  read(slot: number, limit: number): SharedQuota {
    return readShared(this.leases, slot, limit, now());
  }

  readonly readAnew: LimitSharing["readAnew"] = async (slot, limit) => {
    // Asks for no permit; the answer is as fresh as one that a request would wait for.
    await new Promise<void>((resolve) => this.#asking.ask(slot, limit, 0, () => resolve(), monotonic()));
    return this.read(slot, limit);
  };

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    let isLate = false;
    const release = (isHolding: boolean): Promise<void> =>
      this.#forKeys((slot, limit) => {
        if (isLate) return undefined;
        const held = makeAsk(this.leases, slot, limit, 0);
        if ((held.have !== held.used) !== isHolding || !this.#isOfWindow(held)) return undefined;
        return this.#server.lease(this.#nameOf(slot), { ...held, want: -1 }).then(ignore, ignore);
      });
    // First the keys with permits that other replicas can use.
    const released = release(true).then(() => release(false));
    await Promise.race([released, sleep(RELEASE_MS, undefined, { ref: false })]);
    isLate = true;
    this.#server.close();
  }

  readonly #settle = (slot: number, sent: number | undefined): void => this.limits.settle(slot, sent);

  /** The counters list key ids in the order of their slots, so only new ids need a look-up. */
  #nameOf(slot: number): string {
    const names = this.#names;
    if (slot >= names.length) {
      let at = 0;
      for (const name of this.#counters.slots.keys()) if (at++ >= names.length) names.push(name);
    }
    return names[slot]!;
  }

  /** Whether a key was used or leased in the current window: older windows need no report. */
  #isOfWindow({ window }: LeaseAsk): boolean {
    return window >= windowAt(this.#counters, Date.now() + this.clockMs());
  }

  /** Reports the known keys, a few at a time. @param report returns undefined if it sends nothing */
  async #forKeys(report: (slot: number, limit: number) => Promise<void> | undefined): Promise<void> {
    const keys = this.#asking.known.entries();
    const reportSome = async (): Promise<void> => {
      for (const [slot, limit] of keys) {
        const reported = report(slot, limit);
        // Failing reports fail at once, and would leave the event loop no turn.
        if (reported !== undefined) await reported.then(() => nextTurn());
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, reportSome));
  }

  #reportAgain(slot: number, limit: number): Promise<void> | undefined {
    // After a close, a report would count released permits again.
    if (this.#isClosed || Atomics.load(this.leases.away, slot) === 0) return undefined;
    if (!this.#isOfWindow(makeAsk(this.leases, slot, limit, 0))) {
      Atomics.store(this.leases.away, slot, 0);
      return undefined;
    }
    if (!this.#server.isUp(this.#nameOf(slot))) return undefined;
    return new Promise((resolve) =>
      this.#asking.ask(slot, limit, 0, (_, sent) => {
        this.#settle(slot, sent);
        resolve();
      }),
    );
  }
}

/** Connects. @param counters in shared memory */
export async function keepSharedLimits(
  settings: SharedLimitsSettings,
  counters: Counters,
  away: ServersAway,
): Promise<SharedLimitsKeeper> {
  const { target, answerMs, open = openConnection } = settings;
  const seconds = counters.windowSeconds;
  const replica = randomBytes(6).toString("base64url");
  const serve = (events: CounterEvents): CounterServer =>
    new CounterServer({ target, seconds, replica, events, open, answerMs });
  const keeper = new SharedLimitsKeeper(settings, counters, away, serve);
  await keeper.tried();
  return keeper;
}
