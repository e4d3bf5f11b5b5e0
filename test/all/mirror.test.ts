/** `mirror` and `verify` as processes: killed at any moment, near a limit, against a server with other prefixes. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { createRandom } from "../../src/util/random.ts";
import { contents, temporaryFolder } from "../support/folders.ts";
import { get, runWell, type Served, serve, start, until } from "../support/process.ts";

const SEARCH = ["--users", "an"];
const KILLS = 15;
/** None of the commands depends on how tokens begin. */
const PREFIXES = ["--api-key-prefix", "xrift_sk_", "--cli-token-prefix", "xrf_"];
const folder = temporaryFolder();
let upstream: Served;
let limited: string;
let tool: string;

/** Makes a key in a keys file, and a file with its token. */
async function makeKey(keys: string, kind: string): Promise<string> {
  const made = ["keys", "create", "--keys", keys, "--name", kind, "--kind", kind];
  const { stdout } = await runWell([...made, ...PREFIXES]);
  const file = join(folder, `${kind}.token`);
  writeFileSync(file, stdout);
  return file;
}

before(async () => {
  const sizes = ["--users", "400", "--worlds", "150", "--instances", "90"];
  await runWell(["generate", "--out", join(folder, "rows"), ...sizes]);
  const keys = join(folder, "keys.json");
  limited = await makeKey(keys, "api");
  tool = await makeKey(keys, "cli");
  upstream = await serve(join(folder, "rows"), keys, ["--rate-limit", "1000", ...PREFIXES]);
});
const mirrorArgs = (out: string, token: string): string[] => [
  ...["mirror", "--from", upstream.url, "--token-file", token, "--out", out],
];
const verifyArgs = (snapshot: string, token: string): string[] => [
  ...["verify", snapshot, "--against", upstream.url, "--token-file", token],
];

describe("a mirror", () => {
  it("passes check, and answers as the original: with a key of 1,000 requests an hour", async (t) => {
    const out = join(temporaryFolder(t), "out");
    const { stderr } = await runWell([...mirrorArgs(out, limited), ...SEARCH]);
    const [, made] = / users; (\d+) requests\b/.exec(stderr) ?? [];
    assert.ok(Number(made) < 1000, stderr);
    const token = readFileSync(limited, "utf8").trim();
    const { headers } = await get(`${upstream.url}/stats`, { token });
    // The server does not count refused requests, so this rest also shows that none was refused.
    assert.equal(Number(headers["x-ratelimit-remaining"]), 1000 - Number(made) - 1);
    await runWell(["check", out]);
    const found = JSON.parse((await runWell([...verifyArgs(out, tool), "--json"])).stdout);
    assert.deepEqual([found.ok, found.differences, found.compared], [true, [], 200]);
    const { visible, mirror } = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8"));
    assert.ok(visible.users < mirror.totalUsers, "it holds only some users");
  });

  it("that is killed at any moment ends with the same folder as one that is not", async (t) => {
    const whole = join(temporaryFolder(t), "out");
    await runWell([...mirrorArgs(whole, tool), ...SEARCH]);
    const random = createRandom(1, "kills");
    const place = temporaryFolder(t);
    const out = join(place, "out");
    const journal = join(place, "out.mirror/journal.ndjson");
    const sizeOf = (): number => (existsSync(journal) ? readFileSync(journal).length : 0);
    const full = readFileSync(join(`${whole}.mirror`, "journal.ndjson")).length;
    let kills = 0;
    for (; kills < KILLS; kills++) {
      const killed = start([...mirrorArgs(out, tool), ...SEARCH]);
      // At this size of the journal, or slightly later: chosen by progress, not time, to hit the work itself.
      const enough = (full * (kills + random.unit())) / (KILLS + 1);
      await until(
        () => killed.child.exitCode !== null || sizeOf() >= enough,
        `a journal of ${enough} bytes, of ${full}`,
      );
      await new Promise((resolve) => setTimeout(resolve, random.below(8)));
      const ended = await killed.kill();
      assert.ok(ended.signal === "SIGKILL" || ended.status === 0, killed.stderr());
      assert.doesNotMatch(killed.stderr(), /damaged|another process/);
    }
    await runWell([...mirrorArgs(out, tool), ...SEARCH]);
    assert.deepEqual(contents(out), contents(whole));
    assert.deepEqual(readdirSync(place).sort(), ["out", "out.mirror", "out.versions"]);
  });
});
