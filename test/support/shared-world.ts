/**
 * Replicas, a counter server and the network between them in simulated time.
 * The replicas run the real code; the server runs the functions that specify
 * the script; clocks, delays, losses and restarts are simulated here.
 */

import assert from "node:assert/strict";
import { createCounters, type Quota, slotOf } from "../../src/auth/limit.ts";
import type { LeaseAnswer, LeaseAsk } from "../../src/shared-limits/lease-script.ts";
import { askOf, Lessee } from "../../src/shared-limits/lessee.ts";
import { createTally, readTally } from "../../src/shared-limits/tally.ts";
import { createRandom } from "../../src/util/random.ts";
import { endWhere } from "../../src/util/sorted.ts";
import { createKeyState, grant, release } from "./grant.ts";

/** A fault: its kind, start and length, in milliseconds. */
export interface Trouble {
  readonly kind:
    | "partition"
    | "hang"
    | "empty"
    | "kill"
    | "stop"
    | "slow"
    | "late"
    | "far"
    | "lossy"
    | "wall";
  readonly at: number;
  readonly ms: number;
  readonly replica: number;
}

export interface Load {
  readonly at: number;
  readonly replica: number;
  readonly count: number;
  /** Milliseconds between two requests; 0 for all at once. */
  readonly every: number;
}

export interface History {
  readonly seed: number;
  readonly limit: number;
  readonly window: number;
  readonly replicas: number;
  /** The number of replicas in their settings. */
  readonly announced: number;
  readonly denies: boolean;
  /** By replica: offset of the wall clock, in milliseconds. */
  readonly offsets: readonly number[];
  readonly loads: readonly Load[];
  readonly troubles: readonly Trouble[];
}

const EPOCH = Date.parse("2026-01-01T00:00:00Z");
const ANSWER_MS = 40;
/** No request waits longer. */
const WAIT_MS = 50;
const KEY = { id: "key", slot: 0 };
const DRIFT = 1e-4;

/** Requests that one replica let through in one window. */
interface Used {
  passed: number;
  told: number;
}

/** Runs a history and checks every promise at every moment. @returns counts, so that tests can demand enough coverage */
export async function runHistory(history: History) {
  const { limit, window: seconds, denies, troubles } = history;
  const draw = createRandom(history.seed, "history").unit;
  /** Sorted by time, latest first. */
  const events: { readonly at: number; readonly run: () => void }[] = [];
  let now = 0;
  const later = (ms: number, run: () => void): void => {
    const at = now + ms;
    const place = endWhere(0, events.length, (event) => events[event]!.at > at);
    events.splice(place, 0, { at, run });
  };
  const server = {
    state: createKeyState(),
    losses: new Map<number, number>(),
    /** Permits that stopped replicas had used, in the window of the state. */
    left: 0,
  };
  /** By window: permits granted by the server; by window and replica: its largest total, requests counted alone included. */
  const granted = new Map<number, number>();
  const totals = new Map<string, number>();
  const grantedIn = (window: number): number => granted.get(window) ?? 0;
  const seen = { passed: 0, refused: 0, asked: 0, alone: 0, late: 0, waited: 0, killed: 0, givenBack: 0 };

  const serverClock = (): number => EPOCH + now;
  const windowAt = (at: number): number => Math.floor((EPOCH + at) / 1000 / seconds);
  /** Whether a trouble lasts: that of a replica, or one of the whole world. */
  const isOn = (kind: Trouble["kind"], replica?: number): boolean =>
    troubles.some(
      (one) =>
        one.kind === kind &&
        now >= one.at &&
        now < one.at + one.ms &&
        (replica === undefined || one.replica % history.replicas === replica),
    );

  type Replica = ReturnType<typeof createReplica>;

  function createReplica(number: number) {
    const counters = createCounters(seconds);
    slotOf(counters, "key");
    const tally = createTally();
    const lessee: Lessee = new Lessee({
      counters,
      replicas: history.announced,
      denies,
      tally,
      now: () => ({ mono: monoOf(replica), wall: wallOf(replica) }),
      lease: (_, ask) => send(replica, ask),
      startTimer(callback, ms) {
        let isOff = false;
        later(ms / replica.rate, () => isOff || callback());
        return () => {
          isOff = true;
        };
      },
    });
    const replica = {
      name: `r${number}`,
      number,
      tally,
      lessee,
      lease: () => lessee.leases.get(KEY.slot),
      isUp: true,
      connection: 0,
      /** Windows of the server in which it was away, at least for a moment. */
      awayIn: new Set<number>(),
      used: new Map<number, Used>(),
      begun: now,
      wallOffset: history.offsets[number]!,
      rate: 1 + (draw() * 2 - 1) * DRIFT,
      inFlight: new Set<() => void>(),
    };
    return replica;
  }

  const monoOf = (replica: Replica): number => (now - replica.begun) * replica.rate + 1e6;
  const wallOf = (replica: Replica): number => serverClock() + replica.wallOffset;

  function delay(replica: Replica): number {
    if (isOn("slow", replica.number)) return draw() * 400;
    if (isOn("late", replica.number)) return 30;
    // The round trip takes almost as long as a server may take.
    return isOn("far") ? 18.5 + draw() : 0.1 + draw() * 3;
  }

  /** The window of the server's clock, and the replica's permits known to the server, before and after it merges this message. */
  function permitsOf(name: string, { window, have, used }: LeaseAsk) {
    const { state } = server;
    const running = Math.max(state.window, windowAt(now));
    if (running > state.window) server.left = 0;
    const known = state.window === running ? (state.totals.get(name) ?? 0) : 0;
    return { running, known, merged: window === running ? Math.max(known, have, used) : known };
  }

  /** A stopped replica gives back its unused permits. */
  function giveBack({ name, lease, used }: Replica, ask: LeaseAsk): void {
    if (isOn("hang")) return;
    const { state } = server;
    const { running, known, merged } = permitsOf(name, ask);
    const grantedBefore = state.window === running ? state.granted : 0;
    release(state, name, ask, seconds, Math.floor(serverClock()));
    server.left += ask.window === running ? ask.used : known;
    assert.ok(ask.used >= (used.get(ask.window)?.passed ?? 0), "what has passed is not given back");
    if (ask.window !== running) return;
    assert.equal(state.granted, grantedBefore - known + ask.used, "all is given back that was not used");
    granted.set(running, grantedIn(running) - (merged - ask.used));
    seen.givenBack += merged - ask.used;
    assert.equal(askOf(lease()!, limit, 0).used, ask.used, "nothing passes behind that");
  }

  /** The server receives a message, perhaps twice, perhaps long after its timeout. */
  function arrive(name: string, ask: LeaseAsk, answered: (answer: LeaseAnswer) => void): void {
    if (isOn("hang")) {
      later(50, () => arrive(name, ask, answered));
      return;
    }
    const { state } = server;
    const { running, merged } = permitsOf(name, ask);
    const answer = grant(state, name, ask, seconds, Math.floor(serverClock()));
    if (ask.window === running)
      assert.ok(answer.total >= ask.used, "what was counted alone is known from now on");
    const more = answer.total - merged;
    granted.set(running, grantedIn(running) + more);
    totals.set(`${running} ${name}`, Math.max(totals.get(`${running} ${name}`) ?? 0, answer.total));
    assert.ok(more === 0 || state.granted <= limit, "nothing is granted beside what was counted alone");
    const losses = server.losses.get(running) ?? 0;
    assert.ok(grantedIn(running) <= limit * (1 + losses), "no more permits than the limit are leased");
    answered(answer);
  }

  function send(replica: Replica, ask: LeaseAsk): Promise<LeaseAnswer> {
    seen.asked++;
    const { name, connection } = replica;
    return new Promise((answered, failed) => {
      let isOver = false;
      const fail = (): void => {
        isOver = true;
        replica.inFlight.delete(fail);
        failed(new Error("no answer"));
      };
      if (!replica.isUp) {
        later(0, fail);
        return;
      }
      replica.inFlight.add(fail);
      later(ANSWER_MS / replica.rate, () => isOver || lose(replica));
      const receive = (answer: LeaseAnswer): void => {
        if (replica.connection !== connection) seen.late++;
        if (isOver || replica.connection !== connection) return;
        isOver = true;
        replica.inFlight.delete(fail);
        answered(answer);
      };
      const isLossy = isOn("lossy", replica.number);
      if (isOn("partition", replica.number) || (isLossy && draw() < 0.2)) return;
      const copies = isLossy && draw() < 0.2 ? 2 : 1;
      for (let copy = 0; copy < copies; copy++) {
        later(delay(replica), () =>
          arrive(name, ask, (answer) => {
            if (isOn("partition", replica.number) || (isLossy && draw() < 0.3)) return;
            later(delay(replica), () => receive(answer));
          }),
        );
      }
    });
  }

  /** An answer is late: asks nothing more until another connection is good. */
  function lose(replica: Replica): void {
    replica.isUp = false;
    replica.connection++;
    replica.awayIn.add(windowAt(now));
    for (const fail of [...replica.inFlight]) fail();
    const retry = (): void => {
      replica.awayIn.add(windowAt(now));
      // A late answer to the check of a new connection fails it, too.
      const isAway = isOn("hang") || isOn("partition", replica.number) || isOn("late", replica.number);
      if (isAway) later(50 + draw() * 300, retry);
      else {
        replica.isUp = true;
        void replica.lessee.reportAgain(() => true);
      }
    };
    later(50 + draw() * 300, retry);
  }

  const replicas = Array.from({ length: history.replicas }, (_, number) => createReplica(number));
  /** Killed replicas: their answers are ignored. */
  const killed = new Set<Replica>();
  const all = new Set(replicas);
  function replace(number: number): void {
    const next = createReplica(number);
    next.name = `${replicas[number]!.name}'`;
    replicas[number] = next;
    all.add(next);
  }
  let problem: unknown;
  /** Passed requests by window, over all replicas. */
  const answered = new Map<number, number>();

  function judge(replica: Replica, at: number, quota: Quota): void {
    const window = quota.reset / seconds - 1;
    const used = replica.used.get(window) ?? { passed: 0, told: Number.POSITIVE_INFINITY };
    replica.used.set(window, used);
    assert.ok(quota.remaining <= used.told, `remaining rises from ${used.told} to ${quota.remaining}`);
    used.told = quota.remaining;
    // For a key the server is away until it answers; a request that waited until its timeout has found it away.
    const isAway = replica.lease()!.isAway || (now - at) * replica.rate > ANSWER_MS - 1e-6;
    if (isAway) replica.awayIn.add(window);
    const wasAway = replica.awayIn.has(window);
    const isCalm = troubles.every(({ kind }) => kind === "far");
    if (!quota.passed) {
      seen.refused++;
      if (isCalm) assert.equal(grantedIn(window), limit, "nobody is refused while permits are left");
      return;
    }
    seen.passed++;
    used.passed++;
    answered.set(window, (answered.get(window) ?? 0) + 1);
    const permits = totals.get(`${window} ${replica.name}`) ?? 0;
    if (used.passed > permits) seen.alone++;
    const share = denies ? 0 : Math.floor(limit / history.announced);
    const most = Math.max(permits, wasAway ? share : 0);
    assert.ok(used.passed <= most, `passes ${used.passed} in ${window} with ${permits} permits at ${now}`);
    if (!wasAway) {
      assert.ok(windowAt(at) <= window && window <= windowAt(now), "permits are used in their window");
    }
    const isKnown = [...all].every(({ awayIn }) => !awayIn.has(window)) && !server.losses.has(window);
    if (isKnown && !wasAway && seen.killed === 0) {
      // What other replicas let pass since its last answer it does not know.
      const left = limit - used.passed;
      assert.ok(quota.remaining <= left, `promises ${quota.remaining}, of which ${left} are left`);
    }
  }

  function request(number: number): void {
    const replica = replicas[number % history.replicas]!;
    const at = now;
    const quota = replica.lessee.count(KEY, limit, wallOf(replica));
    if (!(quota instanceof Promise)) {
      judge(replica, at, quota);
      return;
    }
    seen.waited++;
    quota
      .then((given) => {
        assert.ok((now - at) * replica.rate <= WAIT_MS + 1e-6, `a request waited for ${now - at} ms`);
        if (!killed.has(replica)) judge(replica, at, given);
      })
      .catch((error: unknown) => {
        problem ??= error;
      });
  }

  for (const { at, replica, count, every } of history.loads) {
    for (let number = 0; number < count; number++) later(at + number * every, () => request(replica));
  }
  /** Troubles of one moment; the others are looked up while they last. */
  const begin: Partial<Record<Trouble["kind"], (number: number, ms: number) => void>> = {
    empty() {
      const { window } = server.state;
      server.losses.set(window, (server.losses.get(window) ?? 0) + 1);
      server.state = createKeyState();
      server.left = 0;
    },
    kill(number) {
      seen.killed++;
      killed.add(replicas[number]!);
      replace(number);
    },
    stop(number) {
      const replica = replicas[number]!;
      replace(number);
      // Its last requests are answered first; the message may be lost.
      later((WAIT_MS + 1) / replica.rate, () => {
        const lease = replica.lease();
        if (!replica.isUp || lease === undefined || isOn("partition", number)) return;
        const ask = askOf(lease, limit, 0);
        later(delay(replica), () => giveBack(replica, ask));
      });
    },
    wall(number, ms) {
      replicas[number]!.wallOffset += ms * (draw() < 0.5 ? -1 : 1);
    },
  };
  for (const { kind, at, ms, replica } of troubles) {
    later(at, () => begin[kind]?.(replica % history.replicas, ms));
  }
  while (events.length > 0) {
    const event = events.pop()!;
    now = event.at;
    event.run();
    // Promises settle before the next event.
    for (let turn = 0; turn < 8; turn++) await null;
    if (problem !== undefined) throw problem;
  }
  const { state, left, losses } = server;
  const held = [...state.totals.values()].reduce((one, other) => one + other, left);
  if (state.window >= 0) assert.equal(state.granted, held, "what was granted is what the replicas have");
  const alone = [...all].reduce((sum, { tally }) => sum + readTally(tally).alone, 0);
  for (const [window, passed] of answered) {
    const most = limit * (1 + (losses.get(window) ?? 0)) + alone;
    assert.ok(passed <= most, `${passed} of ${limit} pass in ${window}; ${alone} alone`);
  }
  return seen;
}
