// Asks two servers of this API the same requests and prints where their replies differ.
// The exit status is 0 where they do not, 1 where they do, 2 after a failure.
//
//   node compare.mjs URL TOKEN_FILE OTHER_URL OTHER_TOKEN_FILE
//
// Set by the environment:
//
//   SAMPLES  pages of each list, and rows, spread over the lists of the first server; 20 when absent
//   SKIP     pattern of the requests to leave out; '^stats|^users.search' for a replica without all users
import { readFileSync } from "node:fs";
import { ApiError, createClient } from "orrery/client";

process.on("uncaughtException", ({ message }) => {
  console.error(message);
  process.exit(2);
});

const [url, tokenFile, otherUrl, otherTokenFile] = process.argv.slice(2);
const { SAMPLES = "20", SKIP = "^$" } = process.env;
const UNKNOWN = "00000000-0000-4000-8000-000000000000";

/** The client of a server, and one with a token that it does not know. */
function connect(baseUrl, file) {
  // Waits for the limit, however long that takes.
  const make = (token) => createClient({ baseUrl, token, maxWaitMs: Number.POSITIVE_INFINITY });
  return { ...make(readFileSync(file, "utf8").trim()), stranger: make("unknown") };
}
const one = connect(url, tokenFile);
const other = connect(otherUrl, otherTokenFile);

/** Requests that need no row: the name of a function, and its arguments. */
function* fixedCalls() {
  yield* [["stats"], ["stranger.stats"], ["stranger.worlds.get", UNKNOWN]];
  for (const name of ["worlds.list", "worlds.popular", "instances.list"])
    for (const limit of [0, 51]) yield [name, { limit, offset: 1 }];
  for (const name of ["worlds.get", "worlds.stats", "worlds.instances", "instances.get"])
    yield [name, UNKNOWN];
  for (const name of ["users.get", "users.worlds"]) yield [name, UNKNOWN];
  for (const name of ["worlds.search", "users.search"])
    for (const q of [" ", "a", "er"]) yield [name, q, { offset: 3 }];
}

/** Pages of a list that are spread over it. */
async function* pagesOf(list) {
  const { total } = (await list({ limit: 1 })).pagination;
  const count = Math.min(Number(SAMPLES), total);
  for (let page = 0; page < count; page++) {
    const options = { limit: 50, offset: Math.floor((total * page) / count) };
    const [row] = (await list(options)).data;
    if (row) yield { options, row };
  }
}

async function* calls() {
  yield* fixedCalls();
  for await (const { options, row } of pagesOf(one.worlds.list)) {
    yield ["worlds.list", options];
    for (const period of ["all", "week", "month"]) yield ["worlds.popular", { ...options, period }];
    for (const name of ["worlds.get", "worlds.stats", "worlds.instances"]) yield [name, row.id];
    for (const text of [row.name, row.name.slice(1, 4)]) yield ["worlds.search", text, { limit: 50 }];
    for (const name of ["users.get", "users.worlds"]) yield [name, row.ownerId];
    const owner = await one.users.get(row.ownerId).catch(() => undefined);
    if (owner) yield ["users.search", owner.data.displayName];
  }
  for await (const { options, row } of pagesOf(one.instances.list)) {
    yield ["instances.list", options];
    yield ["instances.get", row.id];
  }
}

/** The body of a reply, or the status and message of an error. */
async function replyOf(server, [name, ...args]) {
  try {
    return await name.split(".").reduce((group, key) => group[key], server)(...args);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { status: error.status, error: error.message };
  }
}

/** The places where two values differ, with both. */
function differences(a, b, place = "") {
  if (Object(a) !== a || Object(b) !== b)
    return a === b ? [] : [`${place}: ${JSON.stringify(a)}, ${JSON.stringify(b)}`];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => differences(a[key], b[key], `${place} ${key}`));
}

for await (const [name, ...args] of calls()) {
  if (new RegExp(SKIP).test(name)) continue;
  const replies = await Promise.all([one, other].map((server) => replyOf(server, [name, ...args])));
  for (const difference of differences(...replies)) {
    console.log(`${name}(${args.map((arg) => JSON.stringify(arg)).join(", ")})${difference}`);
    process.exitCode = 1;
  }
}
