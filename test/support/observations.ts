/** An example of every event, and of every form that its log line can take. */

import type { Observation } from "../../src/observe/events.ts";

type Kind = Observation["kind"];
type Fields<K extends Kind> = Omit<Extract<Observation, { kind: K }>, "kind">;

/** An error with a stack that is the same everywhere, and a property that must stay secret. */
function defect(): Error {
  const error = new TypeError("boom");
  error.stack = "TypeError: boom\n    at here";
  return Object.assign(error, { token: "svc_sk_canary" });
}

const LOADED: Fields<"snapshot-loaded"> = {
  generation: "g",
  counts: { users: 1, worlds: 1, instances: 1 },
  hiddenWorlds: 0,
  bytes: 1,
  ms: 4,
  readMs: 1,
  packMs: 1,
  indexMs: 2,
  read: ["worlds"],
  kept: ["users"],
};

/** By kind: the compiler reports a new kind without an example. */
const EXAMPLES: { readonly [K in Kind]: readonly [Fields<K>, ...Fields<K>[]] } = {
  listening: [{ url: "http://127.0.0.1:1", generation: "g" }],
  "admin-listening": [{ url: "http://127.0.0.1:2/" }],
  stopping: [{ signal: "SIGTERM" }],
  stopped: [{ ms: 1 }],
  "snapshot-loaded": [LOADED, { ...LOADED, counts: { users: 1, worlds: 0, instances: 0 }, hiddenWorlds: 12 }],
  "snapshot-unchanged": [{ generation: "g", ms: 1, read: [], kept: ["users"] }],
  "snapshot-refused": [
    { problems: ["users.ndjson:1: id: is missing", 'worlds.ndjson:2: "\ud800é\u001b\n'], serving: "g" },
    { problems: ["out of memory"], serving: "g", retryMs: 5000 },
    { problems: ["users.ndjson: changed"], serving: "g", changing: true },
  ],
  "source-downloaded": [{ generation: "g", files: 1, bytes: 9, reused: 3, ms: 1 }],
  "source-failed": [{ problem: "no answer", copy: "g", ageSeconds: 1, retryMs: 1 }],
  "source-recovered": [{ ms: 1 }],
  "round-done": [{ generation: "g", isNew: true, details: "3 rows", seconds: 0.1 }],
  "round-failed": [{ problem: "no answer" }, { problem: "no answer", createdAt: "2026-01-01T00:00:00.000Z" }],
  "similar-ready": [{ generation: "g", names: 2, ms: 1 }],
  "similar-failed": [
    { generation: "g", problem: "out of memory", retryMs: 5000 },
    { generation: "g", problem: "out of memory" },
  ],
  "thread-died": [{ role: "serving", cause: "out of memory" }],
  "thread-replaced": [{ role: "serving", ms: 1 }],
  "connections-refused": [{ limit: 15 }],
  "keys-loaded": [
    { keys: 1, added: 1, changed: 0, removed: 0 },
    { keys: 0, added: 0, changed: 0, removed: 1 },
  ],
  "keys-warned": [{ problems: ["key a (keys[0]): unknown field foo"] }],
  "keys-unchanged": [{ keys: 1 }],
  "keys-refused": [{ problem: "keys.json: not valid JSON" }],
  "data-ahead": [{ createdAt: "2026-12-06T12:00:00.000Z", seconds: 604_800 }],
  "limits-away": [{ server: "127.0.0.1:6379", problem: "connection refused" }],
  "limits-back": [{ server: "127.0.0.1:6379", ms: 12 }],
  request: [
    {
      id: "r",
      method: "GET",
      path: "/api/public/v1/stats",
      route: "/stats",
      status: 200,
      bytes: 10,
      ms: 0.1,
      keyId: "key_1",
    },
    {
      id: "r-2",
      method: "",
      path: '/"\\%C3',
      route: "",
      status: 400,
      bytes: 0,
      ms: 0,
      keyId: "",
      client: "127.0.0.1",
      fault: "badRequest",
      traceId: "0".repeat(32),
      parentId: "1".repeat(16),
      query: "q=a&token=svc_sk_***",
      userAgent: 'x "y"',
    },
  ],
  "key-limited": [{ keyId: "key_1", name: 'shop "\u2028"\u0007', limit: 10, reset: 3600 }],
  "bad-tokens": [{ client: "127.0.0.1", count: 10, fault: "apiKeyUnknown" }],
  "log-failed": [{ problem: "no space left on device (ENOSPC)" }],
  "log-recovered": [{}],
  "log-lines-dropped": [{ count: 3 }],
  "variable-unknown": [{ variable: "ORRERY_PROT", meant: "ORRERY_PORT" }, { variable: "ORRERY_X" }],
  "settings-without-effect": [{ settings: ["--max-data-age", "--x"], why: "without --admin" }],
  "signal-ignored": [{ signal: "SIGUSR2" }],
  defect: [
    { where: "/stats", error: defect() },
    { where: "reload", error: "a text" },
    { where: "reload", error: undefined },
  ],
};

export const OBSERVATIONS: readonly Observation[] = Object.entries(EXAMPLES).flatMap(([kind, all]) =>
  all.map((fields) => ({ kind, ...fields }) as Observation),
);
