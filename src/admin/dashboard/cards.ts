/** The cards of the page, each built from its row. */

import type { KeyStatus, RouteStatus, Status, ThreadStatus } from "../status.ts";
import { chart, type Line } from "./charts.ts";
import { type Child, foreign, make } from "./dom.ts";
import { between, bytes, count, counted, duration, millis, moment, percent, rate } from "./format.ts";
import { LOADS_CARD } from "./loads.ts";
import { type Card, card, type Fact, factList, note, table } from "./parts.ts";
import { sum, sumOf } from "./tiles.ts";

function statusLine(label: string, colour: number, statuses: RegExp): Line {
  return { label, colour, of: ({ requests }) => sumOf(requests.perSecondByStatus, statuses) };
}

/** 429 has its own line: clients cause it, but it is no error of theirs. */
const STATUS_LINES: readonly Line[] = [
  statusLine("5xx failures", 4, /^5/),
  statusLine("429 over the limit", 5, /^429/),
  statusLine("4xx errors", 3, /^4(?!29)/),
  statusLine("3xx unchanged or redirected", 2, /^3/),
  statusLine("2xx answered", 1, /^2/),
];

const MEMORY_LINES: readonly Line[] = [
  { label: "resident", colour: 1, of: ({ memory }) => memory.rssBytes },
  { label: "array buffers", colour: 2, of: ({ memory }) => memory.arrayBuffersBytes },
  { label: "heap", colour: 5, of: ({ memory }) => memory.heapUsedBytes },
];

const DELAY: Line = { label: "event loop delay", colour: 1, of: ({ threads }) => threads.delayP99Ms };

/** Other colours than those of statuses. */
const ROUTE_COLOURS = [6, 7, 8, 9];

/** The busiest operations, by name: so a route keeps its colour for as long as they are the same. */
function latencyLines({ requests }: Status): Line[] {
  const byTotal = requests.routes.filter(({ route }) => route !== "").sort((a, b) => b.total - a.total);
  const busiest = byTotal.slice(0, ROUTE_COLOURS.length).map(({ route }) => route);
  return busiest.sort().map((name, at) => ({
    label: name,
    colour: ROUTE_COLOURS[at]!,
    of: ({ requests }) => requests.routes.find(({ route }) => route === name)?.recent?.p99Ms || null,
  }));
}

/** Figures above 0 by name, "rate_limited" as "rate limited". Missing rows are no refusals, so "not_found" is of paths. */
function named(figures: Readonly<Record<string, number>>): [name: string, figure: number][] {
  return Object.entries(figures).flatMap(([name, figure]) =>
    figure > 0 ? [[name.replace("not_found", "unknown_path").replaceAll("_", " "), figure]] : [],
  );
}

function rejected({ requests }: Status): readonly Child[] {
  const reasons = named(requests.rejected).sort(([, a], [, b]) => b - a);
  if (reasons.length === 0) return [make("p", { class: "quiet" }, "Nothing was refused.")];
  const facts = reasons.map(([reason, times]): Fact => [reason, count(times)]);
  return [factList(facts, "rejected")];
}

/** A key's name, id and outcomes: "3 passed, 12 refused (rate limited 12), last one 4 s ago". */
function describeKey({ name, id, passed, refused, lastUsedAt }: KeyStatus, { now }: Status): Child[] {
  const reasons = named(refused);
  const all = sum(reasons.map(([, times]) => times));
  const why = reasons.map(([reason, times]) => `${reason} ${count(times)}`).join(", ");
  const texts = [`${count(passed)} passed`, all === 0 ? "none refused" : `${count(all)} refused (${why})`];
  if (lastUsedAt !== null) texts.push(`last one ${between(lastUsedAt, now)} ago`);
  const kind = passed === 0 && all > 0 && "bad";
  const use = make("div", { class: "use quiet", "data-kind": kind }, texts.join(", "));
  return [foreign(name, "name"), make("div", { class: "id quiet code" }, foreign(id)), use];
}

function keysText({ keys }: Status): string {
  return `${counted(keys.total, "key")}, window of ${duration(keys.windowSeconds)}`;
}

function limitsText({ limits }: Status): string {
  const { shared, server, since, losses, requests } = limits;
  if (!shared) return "";
  const state = `The counter server of shared limits is ${server} since ${moment(since ?? "")}`;
  const { alone = null, refused = null } = requests ?? {};
  const sent = `${count(alone)} requests were counted alone, ${count(refused)} then refused`;
  return `${state}, lost ${counted(losses, "time")}; ${sent}.`;
}

function searchFacts({ searchCache }: Status): readonly Child[] {
  const { hits, misses, entries, maxBytes } = searchCache;
  const searches = hits + misses;
  const size = maxBytes === 0 ? "turned off" : `${bytes(searchCache.bytes)} of ${bytes(maxBytes)}`;
  const facts: Fact[] = [
    ["Hit rate", searches === 0 ? "no search yet" : percent(hits / searches)],
    ["Hits", count(hits)],
    ["Searched", count(misses)],
    [`Memory of ${counted(entries, "result")}`, size],
  ];
  return [factList(facts, "search")];
}

function threadName({ role, number, isAnswering }: ThreadStatus, { threads }: Status): HTMLElement | string {
  const ofMain = threads.serving > 1 ? "main" : "main, serving";
  const name = role === "main" ? ofMain : `serving ${number}`;
  return isAnswering ? name : make("span", { "data-kind": "bad" }, `${name}: does not answer`);
}

const STATUSES = chart("requests", { lines: () => STATUS_LINES, write: rate, isStacked: true });

const LATENCY = chart("latency", { lines: latencyLines, write: millis, isLogarithmic: true });

const ROUTES = table<RouteStatus>({
  id: "routes",
  caption: "Rates and latencies of the last seconds, errors since the start",
  columns: [
    ["Route", ({ route }) => foreign(route || "other paths", "code")],
    ["per s", ({ perSecond }) => rate(perSecond)],
    ["p50", ({ recent }) => millis(recent?.p50Ms)],
    ["p99", ({ recent }) => millis(recent?.p99Ms)],
    ["Requests", ({ total }) => count(total)],
    ["4xx, 5xx", ({ byStatus }) => count(sumOf(byStatus, /^[4-9]/) || null)],
  ],
  items: ({ requests }) => requests.routes.slice().sort((a, b) => b.perSecond - a.perSecond),
  empty: "No request since the start.",
});

const KEYS = table<KeyStatus>({
  id: "keys",
  caption: "Use of each key since the start, and its limit in this window",
  columns: [
    ["Key", describeKey],
    ["Left", ({ remaining: left }) => make("span", { "data-kind": left === 0 && "bad" }, count(left))],
    ["of", ({ limit }) => count(limit)],
    ["Resets in", (key, { now }) => duration(key.resetEpochSeconds - Date.parse(now) / 1000)],
  ],
  items: ({ keys }) => keys.busiest,
  empty: "No key has sent a request since the start.",
});

const LIMITS = note("limits", limitsText, ({ limits }) => limits.server === "away");

const DELAYS = chart("delay", { lines: () => [DELAY], write: millis });

const THREADS = table<ThreadStatus>({
  id: "threads",
  caption: "Threads that serve or coordinate",
  columns: [
    ["Thread", threadName],
    ["Busy", ({ eventLoop }) => percent(eventLoop?.utilization)],
    ["Delay p99", ({ eventLoop }) => millis(eventLoop?.delay?.p99Ms)],
    ["Delay max", ({ eventLoop }) => millis(eventLoop?.delay?.maxMs)],
    ["Heap", ({ heapUsedBytes }) => bytes(heapUsedBytes)],
  ],
  items: ({ threads }) => threads.all,
  empty: "",
});

const MEMORY = chart("memory", { lines: () => MEMORY_LINES, write: bytes, least: 1e6 });

/** In narrow windows the second column follows the first. */
export const COLUMNS: readonly (readonly Card[])[] = [
  [
    card("requests", "Requests a second", "by status", STATUSES),
    card("latency", "Latency", "99th percentile of the busiest routes", LATENCY),
    card("routes", "Routes", "", ROUTES),
    card("rejected", "Refused", "since the start", rejected),
    card("search", "Search cache", "", searchFacts),
  ],
  [
    card("keys", "Busiest keys", keysText, KEYS, LIMITS),
    LOADS_CARD,
    card("delay", "Threads", "event loop delay, p99 of the slowest", DELAYS, THREADS),
    card("memory", "Memory", "", MEMORY),
  ],
];
