/** The program as it is built and its sources under tsx are one: same bytes on the wire, same output of every command. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { exchanges } from "../support/exchanges.ts";
import { temporaryFolder, writeSnapshot } from "../support/folders.ts";
import { within } from "../support/patience.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { killAll, type Program, served, start } from "../support/process.ts";
import { BUILT_PROGRAM, isBuilt, ROOT, SOURCE_PROGRAM } from "../support/program.ts";

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
