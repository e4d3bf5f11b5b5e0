/** Keys of a running process: they change, and tokens appear nowhere. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { KeyRecord } from "../../src/auth/keys.ts";
import { id, user, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, readKeys, replace, TOKEN, writeKeys } from "../support/place.ts";
import { errorOf, get, type Response, runWell, serve, untilReply } from "../support/process.ts";
import { lastWord } from "../support/raw.ts";

/** So long that no window ends during a test. */
const LONG_WINDOW = ["--rate-window", "31536000"];

describe("keys of a process", { concurrency: 4 }, () => {
  test("keys change under a running server within 2 s; counts stay", async (t) => {
    const { folder, snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, [...LONG_WINDOW, "--watch", "0"]);
    const stats = `${server.url}/stats`;
    const limited = "svc_sk_limited";
    const withLimit = (limit: number): KeyRecord => keyRecord(limited, { limit });

    const { stdout } = await runWell(["keys", "create", "--keys", keys, "--name", "live"]);
    const token = stdout.trim();
    await untilReply(server, token, ({ status }) => status === 200, "a new key to work", 2000);
    const { id: liveId } = readKeys(keys).at(-1)!;
    const steps: [word: string, fits: (response: Response) => boolean][] = [
      ["disable", (r) => r.status === 401 && errorOf(r) === "API key is deactivated"],
      ["enable", (r) => r.status === 200],
      ["delete", (r) => r.status === 401 && errorOf(r) === "Invalid API key"],
    ];
    for (const [word, fits] of steps) {
      await runWell(["keys", word, liveId, "--keys", keys]);
      await untilReply(server, token, fits, `${word} to work`, 2000);
    }

    writeKeys(keys, keyRecord(TOKEN), withLimit(5));
    const counted = async (): Promise<number> =>
      Number((await get(stats, { token: limited })).headers["x-ratelimit-remaining"]);
    await untilReply(server, TOKEN, () => server.logs("keys-loaded").length >= 6, "the limited key");
    assert.equal(await counted(), 4);
    assert.equal(await counted(), 3);

    const loads = server.logs("keys-loaded").length;
    // Another limit keeps the count.
    writeKeys(keys, withLimit(8), keyRecord(TOKEN));
    await server.logged("keys-loaded", loads + 1);
    assert.equal(await counted(), 5);
    // So does a reload of the snapshot.
    writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
    server.child.kill("SIGHUP");
    await server.logged("snapshot-loaded", 2);
    await server.logged("keys-unchanged");
    assert.equal(await counted(), 4);
    await server.stop();
    assert.deepEqual(readdirSync(folder).sort(), ["keys.json", "snapshot"]);
  });

  test("a token is found in no log line and no file, whatever is done with it", async (t) => {
    const { folder, snapshot, keys } = place(t);
    const args = ["--access-log", "--log-level", "debug", "--watch", "0.2"];
    const server = await serve(snapshot, keys, args);
    const { stdout } = await runWell(["keys", "create", "--keys", keys, "--name", "canary"]);
    const token = stdout.trim();
    await untilReply(server, token, ({ status }) => status === 200, "the key", 2000);
    const secret = token.slice("svc_sk_".length);
    const { id: keyId } = readKeys(keys).at(-1)!;
    const wrong = "svc_sk_wrong-canary";
    const paths = ["/worlds", "/stats?token=", "/worlds/", "/nowhere/", "/users/search?q=", "/users/"];
    for (const path of paths) {
      await get(server.url + path + (path.endsWith("=") || path.endsWith("/") ? token : ""), { token });
      await get(`${server.url}${path}`, { token: wrong });
      await get(`${server.url}${path}`, { headers: { Authorization: `Basic ${token}`, "If-Match": token } });
    }
    await lastWord(server.port, `GET /${token} HTTP/9.9\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    writeFileSync(join(snapshot, "users.ndjson"), `{"id":"${id("a", 1)}","secret":"${token}"}\n{${token}`);
    await server.logged("snapshot-refused");
    replace(keys, `{"keys":[{"token":"${token}"`);
    await server.logged("keys-refused");
    await untilReply(server, token, ({ status }) => status === 200, "the old keys");
    const requests = server.logs("request");
    assert.ok(requests.length >= paths.length * 3);
    const isNamed = requests.some((line) => line.status === 200 && line.keyId === keyId);
    assert.ok(isNamed, "the key's id is there instead");
    await server.stop();
    assert.equal(server.logs("defect").length, 0);
    for (const text of [server.stdout(), server.stderr()]) {
      assert.ok(!text.includes(secret) && !text.includes("wrong-canary"));
    }
    // Files in which the test itself wrote the token.
    rmSync(join(snapshot, "users.ndjson"));
    rmSync(keys);
    const left = readdirSync(folder, { recursive: true, withFileTypes: true });
    const files = left.filter((entry) => entry.isFile());
    assert.equal(files.length, 3, "the other files of the snapshot are looked at");
    for (const entry of files) {
      assert.ok(!readFileSync(join(entry.parentPath, entry.name)).includes(secret), entry.name);
    }
  });
});
