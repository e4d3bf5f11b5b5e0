/** Keeping to another server's limit, on a simulated clock: no refusal that a client can foresee. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type BudgetOptions, RequestBudget } from "../src/upstream/request-budget.ts";
import { createRandom } from "../src/util/random.ts";

const HOUR = 3_600_000;

interface World {
  readonly limit: number;
  readonly windowMs: number;
  /** Milliseconds that the server's clock is ahead of ours. */
  readonly skewMs: number;
  readonly hasDate: boolean;
  readonly hasRetryAfter: boolean;
  readonly hasHeaders: boolean;
  /** Chance that another client uses the key before one of our requests is counted. */
  readonly others: number;
  /** Number of the request with a reply that says that the window ends in a thousand years; 0 for none. */
  readonly lie: number;
}

const PLAIN: World = {
  limit: 100,
  windowMs: HOUR,
  skewMs: 0,
  others: 0,
  lie: 0,
  hasDate: true,
  hasRetryAfter: true,
  hasHeaders: true,
};

/** Simulates a fixed-window server and slow requests that overtake each other; the clock jumps from event to event. */
function simulate(requests: number, given: Partial<World>, options: BudgetOptions = {}, seed = 1) {
  const world = { ...PLAIN, ...given };
  const random = createRandom(seed, "pace");
  let now = 1_000_000;
  const wall = (): number => 1_700_000_000_000 + now;
  const server = (): number => wall() + world.skewMs;
  const pace = new RequestBudget({ ...options, clock: () => now, wallClock: wall });
  let window = -1;
  let used = 0;
  const begin = now;
  const windows = new Set<number>();
  const arrivals: { at: number; status: number; headers: Headers }[] = [];
  let [left, sent, refused] = [requests, 0, 0];

  function arrive(): void {
    const current = Math.floor(server() / world.windowMs);
    if (current !== window) [window, used] = [current, 0];
    windows.add(window);
    if (random.chance(world.others)) used++;
    const status = used < world.limit ? 200 : 429;
    if (status === 200) used++;
    else refused++;
    const headers = new Headers();
    if (world.hasDate) headers.set("date", new Date(server()).toUTCString());
    const reset = Math.ceil(((window + 1) * world.windowMs) / 1000);
    if (world.hasHeaders) {
      headers.set("x-ratelimit-limit", String(world.limit));
      headers.set("x-ratelimit-remaining", String(Math.max(0, world.limit - used)));
      headers.set("x-ratelimit-reset", String(sent === world.lie ? reset + 31_536_000_000 : reset));
    }
    if (status === 429 && world.hasRetryAfter)
      headers.set("retry-after", String(Math.max(1, Math.ceil(reset - server() / 1000))));
    arrivals.push({ at: now + 5 + random.below(200), status, headers });
  }

  for (let steps = 0; left > 0 || arrivals.length > 0; steps++) {
    assert.ok(steps < 100 * requests + 1000, "it does not come to an end");
    const wait = left > arrivals.length ? pace.tryTake() : Number.POSITIVE_INFINITY;
    if (wait === 0) {
      sent++;
      arrive();
      continue;
    }
    arrivals.sort((a, b) => a.at - b.at);
    const next = arrivals[0];
    if (next !== undefined && next.at <= now + wait) {
      arrivals.shift();
      now = next.at;
      pace.settle(next);
      if (next.status === 200) left--;
    } else {
      assert.ok(Number.isFinite(wait), "it waits for a reply, and none is under way");
      now += wait;
    }
  }
  return { refused, windows: windows.size, sent, ms: now - begin };
}

const NO_TIME = { date: new Date(0).toUTCString() };

/** A pace on a clock that stands at zero until a test sets it. Each request gets a reply with these headers at once. */
function openPace() {
  const clock = { now: 0 };
  const pace = new RequestBudget({ clock: () => clock.now, wallClock: () => clock.now });
  const send = (headers: Record<string, string>, status = 200): void => {
    assert.equal(pace.tryTake(), 0);
    pace.settle({ status, headers: new Headers({ ...NO_TIME, ...headers }) });
  };
  return { clock, pace, send };
}

describe("a pace", () => {
  it("causes no refusal where nobody else uses the key, whatever the clocks say", () => {
    for (const skewMs of [0, -40 * 60_000, 40 * 60_000, 3e10, -3e10]) {
      for (const limit of [1, 2, 7, 100]) {
        const { refused, sent } = simulate(3 * limit, { limit, skewMs });
        assert.deepEqual({ refused, sent }, { refused: 0, sent: 3 * limit }, `${skewMs} ${limit}`);
      }
    }
  });

  it("uses the whole of a window, in as few windows as there can be", () => {
    const { windows, ms } = simulate(250, {});
    assert.equal(windows, 3);
    assert.ok(ms < 3 * HOUR);
  });

  it("causes one refusal a window at most where others use the key", () => {
    let refusals = 0;
    for (let seed = 1; seed <= 30; seed++) {
      const { refused, windows } = simulate(300, { others: 0.4 }, {}, seed);
      assert.ok(refused <= windows, `${refused} refusals in ${windows} windows, seed ${seed}`);
      refusals += refused;
    }
    assert.ok(refusals > 0, "others never got in the way");
  });

  it("causes one refusal a window at most where the server tells neither its time nor how long to wait", () => {
    for (const skewMs of [0, -20 * 60_000, 20 * 60_000, 3e10, -3e10]) {
      const { refused, windows } = simulate(250, { skewMs, hasDate: false, hasRetryAfter: false });
      assert.ok(refused <= windows, `${refused} refusals in ${windows} windows, ${skewMs} ms`);
    }
  });

  it("finds its way where replies say nothing of a limit", () => {
    const { refused, windows, sent } = simulate(250, { hasHeaders: false });
    assert.ok(refused <= 8 * windows, `${refused} refusals of ${sent}`);
    assert.equal(simulate(250, { hasHeaders: false, limit: 1_000_000 }).refused, 0);
  });

  it("sends no more in any hour than it is told, what was sent before included", () => {
    const { ms } = simulate(35, { hasHeaders: false, limit: 1e9 }, { perHour: 10 });
    assert.ok(ms >= 3 * HOUR && ms < 3 * HOUR + 60_000, `${ms}`);
    const options = { perHour: 10, agesOfSent: [HOUR / 2, HOUR / 2] };
    const after = simulate(10, { hasHeaders: false, limit: 1e9 }, options);
    assert.ok(after.ms >= HOUR / 2 && after.ms < HOUR / 2 + 60_000, `${after.ms}`);
  });

  it("takes nonsense for nothing said", () => {
    const { pace, send } = openPace();
    for (const remaining of ["-5", "abc", "", "1e3", "99999999999999999999"]) {
      send({ "x-ratelimit-remaining": remaining });
      assert.equal(pace.rest, undefined, remaining);
    }
  });

  it("waits a day at most, whatever is said", () => {
    for (const [status, headers] of [
      [429, { "retry-after": "999999999999" }],
      [429, { "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }],
      [200, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999" }],
    ] as const) {
      const { clock, pace, send } = openPace();
      send(headers, status);
      assert.equal(pace.tryTake(), 24 * HOUR, JSON.stringify(headers));
      clock.now = 24 * HOUR;
      assert.equal(pace.tryTake(), 0);
    }
  });

  describe("after a reset that was not true", () => {
    it("hears the next ones: it asks nothing beyond what they leave", () => {
      const { clock, pace, send } = openPace();
      const told = (rest: number, reset: number) => ({
        "x-ratelimit-limit": "100",
        "x-ratelimit-remaining": String(rest),
        "x-ratelimit-reset": String(reset),
      });
      send(told(50, 99_999_999_999));
      send(told(2, 600));
      assert.equal(pace.rest, 2);
      for (const left of [1, 0]) send(told(left, 600));
      assert.equal(pace.tryTake(), 600_000);
      assert.equal(pace.timeFor(1), 600_000);
      clock.now = 600_000;
      assert.equal(pace.tryTake(), 0);
    });

    it("sends as few requests in vain as one that was never lied to", () => {
      for (const lie of [20, 90, 150]) {
        const { refused, sent, windows } = simulate(400, { lie });
        assert.ok(refused <= 8, `${refused} refusals of ${sent} in ${windows} windows, lie ${lie}`);
      }
    });
  });

  it("says how long requests will take", () => {
    const { clock, pace, send } = openPace();
    send({ "x-ratelimit-limit": "100", "x-ratelimit-remaining": "50", "x-ratelimit-reset": "600" });
    assert.equal(pace.timeFor(50), 0);
    assert.equal(pace.timeFor(51), 600_000);
    assert.equal(pace.timeFor(151), 600_000 + HOUR);
    clock.now = 600_001;
    assert.equal(pace.tryTake(), 0);
    // One request alone looks at the next window.
    assert.equal(pace.tryTake(), Number.POSITIVE_INFINITY);
  });
});
