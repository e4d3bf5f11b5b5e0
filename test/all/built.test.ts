/** The program as it is built and its sources under tsx are one: same bytes on the wire, same output of every command. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ROUTES } from "../../src/api/routes.ts";
import { temporaryFolder, writeSnapshot } from "../support/folders.ts";
import { within } from "../support/patience.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { killAll, type Program, served, start } from "../support/process.ts";
import { BUILT_PROGRAM, isBuilt, ROOT, SOURCE_PROGRAM } from "../support/program.ts";
import { requestHead } from "../support/raw.ts";
import { NASTY_TEXTS, UNKNOWN_ID } from "../support/snapshot.ts";

const BASE = "/api/public/v1";

/** Head of a request that ends its connection. */
function ending(target: string, headers: readonly string[], method = "GET"): string {
  return requestHead(target, [...headers, "Connection: close"], method);
}

/** Ids that exist, by the first segment of the paths that take them. */
type Ids = Readonly<Record<string, string>>;

const PAGES = [
  "limit=1",
  "limit=50&offset=3",
  "limit=51",
  "limit=0",
  "limit=x&offset=-1",
  "offset=1999&limit=5",
];
const ODD = [
  "limit=2&limit=3",
  "offset=99999999999999999999",
  "unknown=1",
  "limit=%31",
  "limit=%zz",
  "&&=&limit",
];
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  limit: [...PAGES, ...ODD],
  q: ["q=", "q=%20", "q=a", "q=the%20of&limit=3", "q=zzzzzzzz", "q=%ff", `q=${"x".repeat(300)}`],
  match: ["match=similar", "match=exact&limit=2", "match="],
  period: ["period=week", "period=month&limit=2", "period=year"],
  worldId: ["worldId=", `worldId=${UNKNOWN_ID}`, "worldId=x"],
};

/** Targets of every operation: with ids that exist, do not, and cannot; with parameters of all kinds. */
function targetsOf(ids: Ids): string[] {
  const targets = ROUTES.flatMap(({ path, parameters }) => {
    const known = ids[path.split("/")[1]!] ?? UNKNOWN_ID;
    const all = path.includes(":id") ? [known, known.toUpperCase(), UNKNOWN_ID, "x", "%00"] : [""];
    const places = all.map((id) => path.replace(":id", id));
    const queries = parameters.flatMap((name) => QUERIES[name] ?? []);
    if (parameters.includes("worldId")) queries.push(`worldId=${ids.worlds}`);
    if (parameters.includes("q"))
      queries.push(...NASTY_TEXTS.map((text) => `q=${encodeURIComponent(text.toWellFormed())}`));
    const [first] = places;
    const needed = parameters.includes("q") ? "q=e&" : "";
    return [...places, ...queries.map((query) => `${first}?${query.startsWith("q=") ? "" : needed}${query}`)];
  });
  return targets.map((target) => BASE + target);
}

/** Targets that no operation has. */
const NOWHERE = [
  ...["/", BASE, `${BASE}/`, `${BASE}/nothing`, `${BASE}/worlds/`, `${BASE}//worlds`, "*", "/%2e"],
  "/?a",
];

/** Requests beside a plain one: every method, conditions, and tokens of all kinds. */
function variantsOf(target: string, token: string, others: readonly string[], etag: string): string[] {
  const bearer = `Authorization: Bearer ${token}`;
  const heads = [
    [`If-None-Match: ${etag}`],
    ["If-None-Match: *"],
    [`If-Match: W/${etag}`],
    ['If-Match: "x"'],
  ];
  const wrong = [[], ["Authorization: Basic x"], ["Authorization: Bearer"], [`${bearer}x`], [bearer, bearer]];
  return [
    ...["HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"].map((method) =>
      ending(target, [bearer, "Origin: https://a.example"], method),
    ),
    ...[...heads, ["Content-Length: 3"], ["Origin: https://a.example"]].map((lines) =>
      ending(target, [bearer, ...lines]),
    ),
    ...wrong.map((lines) => ending(target, lines)),
    ...others.map((other) => ending(target, [`Authorization: Bearer ${other}`])),
  ];
}

/** What no HTTP client would send. */
const MALFORMED = [
  "nonsense\r\n\r\n",
  "GET / HTTP/1.1\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n",
  "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
  "GET / HTTP/1.0\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: 80 }, (_, at) => `A${at}: b\r\n`).join("")}\r\n`,
];

/** All of them, each for a connection of its own; the last are of a key that has few requests. */
function exchanges(
  ids: Ids,
  tokens: { readonly whole: string; readonly others: readonly string[]; readonly few: string },
  etag: string,
): string[] {
  const bearer = `Authorization: Bearer ${tokens.whole}`;
  const plain = [...targetsOf(ids), ...NOWHERE].map((target) => ending(target, [bearer]));
  const places = ROUTES.map(({ path }) => `${BASE}${path.replace(":id", ids[path.split("/")[1]!] ?? "x")}`);
  const varied = places.flatMap((target) => variantsOf(target, tokens.whole, tokens.others, etag));
  const many = Array.from({ length: 8 }, () =>
    ending(`${BASE}/stats`, [`Authorization: Bearer ${tokens.few}`]),
  );
  return [...plain, ...varied, ...MALFORMED, ...many];
}

const FORMS = { source: SOURCE_PROGRAM, built: BUILT_PROGRAM };
type Form = keyof typeof FORMS;

const folder = temporaryFolder({ after });

after(killAll);

const startForm = (form: Form, args: readonly string[]): Program =>
  start(args, {}, [process.execPath, ...FORMS[form]]);

/** Does the same with both forms at once. */
async function both<T>(work: (form: Form) => Promise<T>): Promise<Record<Form, T>> {
  const [source, built] = await Promise.all([work("source"), work("built")]);
  return { source, built };
}

/** All that a server sends to a request until it ends the connection. */
async function exchange(port: number, request: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.write(request, "latin1");
  await within(once(socket, "close"), `the end of the connection behind ${request.slice(0, 200)}`);
  return Buffer.concat(chunks).toString("latin1");
}

/** Without what depends on the second in which it was sent. */
function timeless(answer: string): string {
  return answer.replace(/^(Date|Retry-After): .*\r\n/gim, "$1: …\r\n");
}

describe("the built program and its sources", () => {
  before(() => assert.ok(isBuilt(), "dist/ is older than src/: npm run build"));

  it("answer alike, byte for byte", async () => {
    const tokens = {
      whole: "svc_sk_whole",
      few: "svc_sk_few",
      others: ["svc_sk_narrow", "svc_sk_disabled", "svc_sk_expired", "svcx_tool", "svc_sk_nobody", "x"],
    };
    const keys = writeKeys(
      join(folder, "keys.json"),
      keyRecord(tokens.whole, { limit: 100_000 }),
      keyRecord(tokens.few, { limit: 5 }),
      keyRecord("svc_sk_narrow", { scopes: ["read:instances"] }),
      keyRecord("svc_sk_disabled", { active: false }),
      keyRecord("svc_sk_expired", { expiresAt: "2026-01-02T00:00:00.000Z" }),
      keyRecord("svcx_tool"),
    );
    const settings = ["--snapshot", "data/sample", "--keys", keys, "--port", "0", "--rate-window", "86400"];
    const servers = await both(async (form) => {
      return served(startForm(form, ["serve", ...settings, "--log-level", "error"]));
    });
    assert.equal(servers.built.generation, servers.source.generation);
    const firstOf = (file: string): string =>
      JSON.parse(readFileSync(join(ROOT, "data/sample", file), "utf8").split("\n", 1)[0]!).id;
    const ids = {
      worlds: publicId("worlds.ndjson"),
      users: firstOf("users.ndjson"),
      instances: publicId("instances.ndjson"),
    };
    const requests = exchanges(ids, tokens, `"${servers.source.generation}"`);
    const statuses = new Map<string, number>();
    for (const request of requests) {
      const { source, built } = await both((form) => exchange(servers[form].port, request));
      assert.equal(timeless(built), timeless(source), request);
      const status = /^HTTP\/1\.1 (\d+) /.exec(source)?.[1] ?? "none";
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    assert.ok(requests.length > 400, `${requests.length} requests`);
    assert.ok(statuses.get("200")! > 150, JSON.stringify([...statuses]));
    const seen = ["200", "204", "304", "400", "401", "403", "404", "405", "412", "429", "431"];
    assert.deepEqual(
      seen.filter((status) => !statuses.has(status)),
      [],
      JSON.stringify([...statuses]),
    );
    await both((form) => servers[form].stop());
  });

  it("say the same on every command line", async () => {
    const bad = writeSnapshot(join(folder, "bad"), { "users.ndjson": '{"id": 1}\n' });
    // Each takes the sources a second to start; what is made from one table is asked for once.
    const calls = [
      ...[[], ["--version"], ["nothing"], ["openapi"], ["serve", "--help"], ["keys", "create", "--help"]],
      ...[
        ["completion", "bash"],
        ["completion", "zsh"],
        ["completion", "fish"],
        ["serve", "--prot", "1"],
      ],
      ...[
        ["check", "data/sample", "--json"],
        ["check", bad],
        ["diff", "data/sample", bad],
      ],
      ["keys", "list", "--keys", "none"],
    ];
    for (const call of calls) await sameOutcome(call);
  });

  it("generate the same snapshots, and see the same differences", async () => {
    const sizes = ["--users", "300", "--worlds", "120", "--instances", "40"];
    const outs = await both(async (form) => {
      for (const seed of ["1", "7"]) {
        const out = join(folder, form, seed);
        mkdirSync(join(folder, form), { recursive: true });
        const args = ["generate", "--out", out, ...sizes, "--seed", seed];
        const ran = startForm(form, args);
        assert.equal((await ran.ended).status, 0, ran.stderr());
      }
      return [join(folder, form, "1"), join(folder, form, "7")] as const;
    });
    for (const at of [0, 1] as const) {
      const names = readdirSync(outs.source[at]).sort();
      assert.ok(names.length >= 5);
      assert.deepEqual(readdirSync(outs.built[at]).sort(), names);
      for (const name of names) {
        const [one, other] = [outs.source, outs.built].map((out) => readFileSync(join(out[at], name)));
        assert.ok(one!.equals(other!), name);
      }
    }
    await sameOutcome(["diff", ...outs.source, "--json"]);
    await sameOutcome(["diff", ...outs.source]);
    await sameOutcome(["check", outs.source[0], "--no-index", "--json"]);
  });
});

/** Id of the first public row of a file of the sample. */
function publicId(file: string): string {
  const rows = readFileSync(join(ROOT, "data/sample", file), "utf8").split("\n");
  return JSON.parse(rows.find((row) => row.includes('"isPublic":true'))!).id;
}

/** Runs a command in both forms: status, output and messages must be alike. */
async function sameOutcome(args: readonly string[]): Promise<void> {
  const { source, built } = await both(async (form) => {
    const { ended, stdout, stderr } = startForm(form, args);
    return { ...(await ended), stdout: stdout(), stderr: stderr() };
  });
  assert.deepEqual(built, source, args.join(" "));
}
