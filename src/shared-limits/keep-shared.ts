/** Shared limits of a replica: a lessee in each thread that serves, and one in the main thread, which reports for all. */

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Counters } from "../auth/limit.ts";
import type { ConnectedThread, CountedKey, LimitSharing, ThreadCount } from "../auth/shared.ts";
import { Coalesced } from "../util/process/coalesced.ts";
import { type CounterEvents, CounterServer } from "./counter-server.ts";
import { Lessee } from "./lessee.ts";
import { startRealTimer } from "./real-timer.ts";
import { importOpenClient, type OpenClient } from "./redis-client.ts";
import type { RedisTarget } from "./redis-url.ts";
import type { ServersAway } from "./servers-away.ts";
import { createTally, readTally, type Tally } from "./tally.ts";

/** Of all threads. */
interface Shared {
  readonly target: RedisTarget;
  readonly replicas: number;
  readonly denies: boolean;
  /** Timeout of an answer in milliseconds; longer in tests on busy machines. */
  readonly answerMs?: number | undefined;
}

export interface SharedLimitsSettings extends Shared {
  readonly open?: OpenClient;
}

const RELEASE_MS = 500;

type Server = Pick<CounterServer, "tried" | "isUp" | "lease" | "close">;

/** Creates the counter server; simulations pass their own. */
export type Serve = (events: CounterEvents) => Server;

/** A loss of a server, or without a problem its return. */
interface AwayMessage {
  readonly server: string;
  readonly problem?: string;
}

function serveBy(settings: SharedLimitsSettings, seconds: number, open: OpenClient): Serve {
  const { target, answerMs } = settings;
  const lessee = randomBytes(6).toString("base64url");
  return (events) => new CounterServer({ target, seconds, lessee, events, open, answerMs });
}

/** Counts in this thread. @param tell is told of losses and returns of servers */
function startCounting(
  { replicas, denies }: Shared,
  counters: Counters,
  tally: Tally,
  tell: (message: AwayMessage) => void,
  serve: Serve,
) {
  const lessee = new Lessee({
    counters,
    replicas,
    denies,
    tally,
    now: () => ({ mono: performance.now(), wall: Date.now() }),
    lease: (keyId, ask) => server.lease(keyId, ask),
    startTimer: startRealTimer,
  });
  const reports = new Coalesced(() => lessee.reportAgain((keyId) => server.isUp(keyId)));
  const server = serve({
    onAway: (place, problem) => tell({ server: place, problem }),
    onBack: (place) => tell({ server: place }),
    onUp: () => void reports.ask(),
    onClock(offset) {
      lessee.clockMs = offset;
    },
  });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    const late = new AbortController();
    await Promise.race([lessee.giveBack(late.signal), sleep(RELEASE_MS, undefined, { ref: false })]);
    late.abort();
    server.close();
  };
  return { lessee, tried: server.tried, close: () => (closing ??= close()) };
}

const MAIN_THREAD = 0;

export class SharedLimitsKeeper implements LimitSharing {
  readonly limits: Lessee;
  readonly handed: unknown;
  readonly tried: Promise<void>;
  readonly close: () => Promise<void>;
  readonly #away: ServersAway;
  readonly #tally = createTally();
  #threads = MAIN_THREAD;

  /** Begins to connect. @param counters in shared memory */
  constructor(settings: SharedLimitsSettings, counters: Counters, away: ServersAway, serve: Serve) {
    const { target, replicas, denies, answerMs } = settings;
    this.#away = away;
    this.handed = { target, replicas, denies, answerMs, tally: this.#tally } satisfies Handed;
    const tell = (message: AwayMessage): void => this.#take(MAIN_THREAD, message);
    const { lessee, tried, close } = startCounting(settings, counters, this.#tally, tell, serve);
    this.limits = lessee;
    this.tried = tried;
    this.close = close;
  }

  connect(): ConnectedThread {
    const thread = ++this.#threads;
    return {
      take: (message) => this.#take(thread, message as AwayMessage),
      leave: () => this.#away.forget(thread),
    };
  }

  clockMs(): number {
    return this.limits.clockMs;
  }

  read(key: CountedKey, limit: number) {
    return this.limits.read(key, limit);
  }

  readAnew(key: CountedKey, limit: number) {
    return this.limits.readAnew(key, limit);
  }

  figures() {
    return readTally(this.#tally);
  }

  #take(thread: number, { server, problem }: AwayMessage): void {
    if (problem === undefined) this.#away.comeBack(thread, server);
    else this.#away.lose(thread, server, problem);
  }
}

interface Handed extends Shared {
  readonly tally: Tally;
}

/** Counts in a serving thread. @param handed by the keeper @param send sends a message to it */
export function countInThread(
  handed: unknown,
  counters: Counters,
  send: (message: unknown) => void,
): ThreadCount {
  const settings = handed as Handed;
  // The main thread has imported it before, or has ended the start.
  const open: OpenClient = async (...given) => (await importOpenClient())(...given);
  const serve = serveBy(settings, counters.windowSeconds, open);
  const { lessee, tried, close } = startCounting(settings, counters, settings.tally, send, serve);
  return { count: lessee.count, tried, close };
}

/** Connects. @param counters in shared memory @throws {SettingError} if the client is not installed */
export async function keepSharedLimits(
  settings: SharedLimitsSettings,
  counters: Counters,
  away: ServersAway,
): Promise<SharedLimitsKeeper> {
  const open = settings.open ?? (await importOpenClient());
  const serve = serveBy(settings, counters.windowSeconds, open);
  const keeper = new SharedLimitsKeeper(settings, counters, away, serve);
  await keeper.tried;
  return keeper;
}
