/** What a server on another runtime than Node must do as on Node. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { BASE, cleanUp, FEW, TOKENS, testOptions, USER, WORLD } from "./http-server.ts";
import { killRuntimes, type OtherServer, type Runtime, serveOn, stopOther } from "./other-runtime.ts";
import { assertPages, assertPipelines } from "./pages.ts";
import { within } from "./patience.ts";
import { until } from "./process.ts";
import { testArguments } from "./program.ts";
import {
  closeWires,
  dial,
  errorOf,
  header,
  lastWord,
  type RawResponse,
  requestHead,
  type Wire,
} from "./raw.ts";
import { assertPassesOn } from "./runtimes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export const STATS = `${BASE}/stats`;
export const PAGE = `${BASE}/worlds?limit=50`;
export const SEARCH = `${BASE}/worlds/search?q=world`;
export const CLI = `Authorization: Bearer ${TOKENS.cli}`;
const FEW_KEY = `Authorization: Bearer ${TOKENS.few}`;

/** A good request. */
export function good(target: string, headers: readonly string[] = [], method = "GET"): string {
  return requestHead(target, [CLI, ...headers], method);
}

/** A server under test, in a place of its own. */
export interface Under {
  readonly port: number;
  readonly server: OtherServer;
  readonly snapshot: string;
  readonly keys: string;
}

const folders: string[] = [];

after(async () => {
  closeWires();
  killRuntimes();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  await cleanUp();
});

/** Starts a server over a copy of the tests' snapshot and keys. */
export async function openOn(runtime: Runtime, more: readonly string[] = []): Promise<Under> {
  const { settings } = await testOptions({}, []);
  const folder = await mkdtemp(join(tmpdir(), "orrery-runtime-"));
  folders.push(folder);
  const snapshot = join(folder, "snapshot");
  const keys = join(folder, "keys.json");
  cpSync(settings.snapshot, snapshot, { recursive: true });
  cpSync(settings.keys, keys);
  const server = await serveOn(runtime, [
    ...["--snapshot", snapshot, "--keys", keys, "--rate-window", "31536000"],
    ...["--watch", "0.2", ...more],
  ]);
  return { port: server.port, server, snapshot, keys };
}

/** Sends one request on a connection of its own. */
export async function askOne(port: number, bytes: string, method = "GET"): Promise<RawResponse> {
  const wire = await dial(port);
  void wire.send(bytes);
  const response = await wire.response(method);
  wire.destroy();
  return response;
}

export function isStats(response: RawResponse): void {
  assert.equal(response.status, 200);
  assert.equal(JSON.parse(response.body).data.totalPublicWorlds, 60);
}

/** Whatever comes until the server ends the connection. */
export async function allUntilEnd(port: number, bytes: string | Buffer): Promise<string> {
  const wire = await dial(port);
  const chunks: Buffer[] = [];
  wire.socket.removeAllListeners("data");
  wire.socket.on("data", (chunk) => chunks.push(chunk));
  void wire.send(bytes);
  await within(wire.ending, "the end of the connection");
  wire.destroy();
  return Buffer.concat(chunks).toString("latin1");
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;
}

const BODIES = {
  "a length": ["Content-Length: 5", "hello"],
  chunks: ["Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"],
} as const;

const WITH_BODY = [
  ["GET", STATS, 400, "Request body not allowed"],
  ["GET", "/nowhere", 400, "Request body not allowed"],
  ["HEAD", STATS, 400, ""],
  ["POST", STATS, 405, "Method not allowed"],
  ["PUT", `${BASE}/worlds/${WORLD}`, 405, "Method not allowed"],
  ["PATCH", SEARCH, 405, "Method not allowed"],
  ["DELETE", `${BASE}/nowhere`, 404, "Not found"],
  ["OPTIONS", STATS, 204, ""],
] as const;

/** No paths, whatever a URL parser would make of them. */
const NO_PATHS = [
  "//",
  "//[",
  "/%",
  "/\\",
  `${BASE}/`,
  `${STATS}/`,
  `/${STATS}`,
  `${BASE}/st%61ts`,
  `${BASE}/./stats`,
  `${BASE}/../v1/stats`,
  `${BASE}/x/../stats`,
  `${BASE}//stats`,
  `${BASE}\\stats`,
  `${STATS}#x`,
  `${BASE}/worlds//stats`,
  `${BASE}/worlds/../users/${USER}`,
  `${BASE}/worlds/%2e%2e/users/1`,
];

const NOBODYS = ["..", ".", "%2e%2e", "%zz", "__proto__", `${WORLD}\\stats`, WORLD.replace("0", "%30")];

/** The tests on the wire, and how many each has at least. Those that look into a server look into one on Node. */
const WIRE_TESTS = {
  "test/http.test.ts": 430,
  "test/http-answers.test.ts": 45,
  "test/http-connections.test.ts": 35,
  "test/all/http-stop.test.ts": 6,
};

/** The cases that hold on every runtime. */
export function describeSameAsOnNode(name: string, runtime: Runtime, missing: string | false): void {
  describe(`on ${name}, as on Node`, { skip: missing }, () => {
    let under: Under;
    const ask = (bytes: string, method = "GET"): Promise<RawResponse> => askOne(under.port, bytes, method);

    before(async () => {
      under = await openOn(runtime);
    });
    after(async () => {
      closeWires();
      await stopOther(under.server);
    });

    test("bodies are refused, and the connection ends behind the answer", async () => {
      for (const [framing, body] of Object.values(BODIES)) {
        for (const [method, target, status, error] of WITH_BODY) {
          const wire = await dial(under.port);
          void wire.send(good(target, [framing], method) + body);
          const response = await wire.response(method);
          assert.equal(response.status, status, `${method} ${target} ${framing}`);
          assert.equal(header(response, "Connection"), "close");
          if (error !== "") assert.equal(errorOf(response), error);
          assert.equal(await within(wire.ending, "the end"), "fin");
          wire.destroy();
        }
      }
      isStats(await ask(good(STATS, ["Content-Length: 0"])));
      assert.equal((await ask(good(STATS, ["Content-Length: 0"], "POST"), "POST")).status, 405);
    });

    test("the answer to 8 MB is there", async () => {
      const agent = new Agent({ keepAlive: true });
      for (const [method, status] of [
        ["GET", 400],
        ["POST", 405],
      ] as const) {
        const got = await new Promise<number>((resolve, reject) => {
          const headers = { Host: "a", Authorization: CLI.slice(15), "Content-Length": 8_000_000 };
          const request = httpRequest(
            { port: under.port, method, path: STATS, headers, agent },
            (response) => {
              resolve(response.statusCode!);
              request.destroy();
            },
          );
          // The server may stop reading before all is sent.
          request.on("error", (error) => (request.destroyed ? undefined : reject(error)));
          request.on("close", () => reject(new Error("no answer")));
          request.flushHeaders();
          request.write(Buffer.alloc(8_000_000));
        });
        assert.equal(got, status);
      }
      agent.destroy();
    });

    test("a HEAD, a 204 and a 304 have no body, and the right length", async () => {
      const get = await ask(good(PAGE));
      const wire = await dial(under.port);
      void wire.send(
        good(PAGE, [], "HEAD") + good(STATS, [], "OPTIONS") + good(STATS, ["If-None-Match: *"]) + good(STATS),
      );
      const head = await wire.response("HEAD");
      assert.equal(header(head, "Content-Length"), header(get, "Content-Length"));
      assert.equal(header(head, "ETag"), header(get, "ETag"));
      assert.equal((await wire.response()).status, 204);
      assert.equal((await wire.response()).status, 304);
      isStats(await wire.response());
      wire.destroy();
    });

    test("headers in any case, conditions in several headers, 64 headers, and no more", async () => {
      isStats(await ask(requestHead(STATS, [`aUTHORIZATION:Bearer ${TOKENS.cli}`, "hOsT: x"])));
      const etag = `"${under.server.generation()}"`;
      assert.equal(
        (await ask(good(STATS, ['If-None-Match: "a"', `if-none-match: W/${etag}, "b"`]))).status,
        304,
      );
      assert.equal((await ask(good(STATS, ['If-Match: "a"', `If-Match: ${etag}`]))).status, 200);
      assert.equal((await ask(good(STATS, ['If-Match: "a"', 'If-Match: "b"']))).status, 412);
      const filler = (count: number) => Array.from({ length: count - 2 }, (_, at) => `X-${at}: ${at}`);
      isStats(await ask(good(STATS, filler(64))));
      const many = await lastWord(under.port, good(STATS, filler(65)));
      assert.equal(many.status, 431);
      assert.equal(errorOf(many), "Request header fields too large");
      const start = `${BASE}/worlds/search?q=world&x=`;
      assert.equal((await ask(good(start + "y".repeat(8192 - start.length)))).status, 200);
      isStats(
        await ask(
          good(
            STATS,
            Array.from({ length: 10 }, (_, at) => `X-${at}: ${"x".repeat(1450)}`),
          ),
        ),
      );
    });

    test("of two Authorization headers the first counts", async () => {
      const other = "Authorization: Bearer svcx_nobody";
      const basic = "Authorization: Basic eDp5";
      isStats(await ask(good(STATS, [other])));
      isStats(await ask(good(STATS, [basic])));
      isStats(await ask(good(STATS, [CLI])));
      assert.equal(errorOf(await ask(requestHead(STATS, [other, CLI]))), "Invalid CLI token");
      assert.equal(errorOf(await ask(requestHead(STATS, [basic, CLI]))), "Invalid token format");
      assert.equal(errorOf(await ask(requestHead(STATS, ["Authorization:", CLI]))), "Invalid token format");
    });

    test("Connection: close gets one answer, which says so", async () => {
      for (const options of ["close", "Close", "x, close"]) {
        const text = await allUntilEnd(under.port, good(STATS, [`Connection: ${options}`]) + good(STATS));
        assert.match(text, /^HTTP\/1\.1 200 /);
        assert.match(text, /\r\nConnection: close\r\n/i);
        assert.equal(text.match(/HTTP\/1\.1 /g)!.length, 1);
      }
    });

    test("two Hosts are a bad request, another expectation is not met", async () => {
      assert.equal(errorOf(await lastWord(under.port, good(STATS, ["Host: a", "Host: b"]))), "Bad request");
      assert.equal(errorOf(await lastWord(under.port, good(STATS, ["Expect: x"]))), "Expectation failed");
    });

    test("a target is what was sent", async () => {
      for (const target of NO_PATHS) {
        const response = await ask(good(target));
        assert.equal(response.status, 404, target);
        assert.equal(errorOf(response), "Not found", target);
      }
      for (const id of NOBODYS) {
        for (const path of [`/worlds/${id}`, `/worlds/${id}/stats`, `/worlds/${id}/instances`]) {
          assert.equal(errorOf(await ask(good(BASE + path))), "World not found", path);
        }
      }
      isStats(await ask(good(`http://anything${STATS}?x=1`)));
      const odd = JSON.parse((await ask(good(`${BASE}/worlds??limit=2`))).body);
      assert.equal(odd.pagination.limit, 20);
    });

    test("the pages beside the API", async () => {
      await assertPages(under.port, "1,000 in 365 days");
      await assertPipelines(under.port);
    });

    test("20 pipelined requests are answered in order", async () => {
      const targets = [STATS, PAGE, "/nowhere", `${BASE}/worlds/${WORLD}`, `${BASE}/users/${USER}`];
      const asks = Array.from(
        { length: 20 },
        (_, at) => [at % 7 === 3 ? "HEAD" : "GET", targets[at % 5]!] as const,
      );
      const alone = await Promise.all(asks.map(([method, target]) => ask(good(target, [], method), method)));
      const wire = await dial(under.port);
      void wire.send(asks.map(([method, target]) => good(target, [], method)).join(""));
      for (const [at, [method]] of asks.entries()) {
        const { status, body } = await wire.response(method);
        assert.deepEqual([status, body], [alone[at]!.status, alone[at]!.body]);
      }
      wire.destroy();
    });

    test("hundreds of requests in one write are all answered", async () => {
      const wire = await dial(under.port);
      void wire.send(good(STATS).repeat(300));
      for (let at = 0; at < 300; at++) isStats(await wire.response());
      wire.destroy();
    });

    test("two serving threads: each request is counted once, and a stop ends them", async () => {
      const { server, port } = await openOn(runtime, ["--threads", "2"]);
      const bytes = requestHead(SEARCH, [FEW_KEY]);
      const all = await Promise.all(Array.from({ length: 40 }, () => askOne(port, bytes)));
      assert.equal(all.filter(({ status }) => status === 200).length, FEW);
      await stopOther(server);
    });

    test("a client that half-closes behind its requests gets their answers", async () => {
      const wire = await dial(under.port);
      void wire.send(good(STATS) + good(PAGE) + good(STATS));
      wire.end();
      isStats(await wire.response());
      assert.equal(JSON.parse((await wire.response()).body).data.length, 50);
      isStats(await wire.response());
      await wire.fin();
      wire.destroy();
    });

    test("of many requests at once exactly the limit pass", async () => {
      const bytes = requestHead(SEARCH, [FEW_KEY]);
      const all = await Promise.all(Array.from({ length: 40 }, () => ask(bytes)));
      const passed = all.filter(({ status }) => status === 200);
      assert.equal(passed.length, FEW);
      assert.deepEqual(passed.map((response) => header(response, "X-RateLimit-Remaining")).toSorted(), [
        "0",
        "1",
        "2",
        "3",
        "4",
      ]);
      for (const response of all) {
        if (response.status === 200) continue;
        assert.equal(response.status, 429);
        assert.ok(Number(header(response, "Retry-After")) >= 1);
      }
    });

    test("floods without a token from peers that read nothing harm nobody", async () => {
      const { pid } = under.server.child;
      const deaf: Wire[] = [];
      for (let at = 0; at < 8; at++) {
        const wire = await dial(under.port);
        wire.socket.pause();
        void wire.send(requestHead(SEARCH).repeat(20_000));
        void wire.send(good(PAGE).repeat(2000));
        deaf.push(wire);
      }
      const held = residentBytes(pid!);
      for (let at = 0; at < 50; at++) isStats(await ask(good(STATS)));
      assert.ok(residentBytes(pid!) - held < 300_000_000, `${residentBytes(pid!)} bytes, before ${held}`);
      for (const wire of deaf) wire.destroy();
      isStats(await ask(good(STATS)));
    });

    test("peers that hang up while they wait harm nobody", async () => {
      for (let round = 0; round < 5; round++) {
        const wires = await Promise.all(Array.from({ length: 50 }, () => dial(under.port)));
        for (const wire of wires) {
          void wire.send(
            good(`${BASE}/worlds/search?q=${round}%20far%20and&offset=${round}`) + good(PAGE).slice(0, 40),
          );
          wire.socket.resetAndDestroy();
        }
        await Promise.all(wires.map(({ gone }) => gone));
      }
      isStats(await ask(good(STATS)));
      // Until the runtime has noticed the last of them, their searches may fill what may wait.
      await until(
        async () => (await ask(good(`${BASE}/users/search?q=user`))).status === 200,
        "a search to be answered",
      );
    });

    test("SIGHUP reads keys and snapshot again, and so does the watch", async () => {
      const before = under.server.generation();
      const generation = async (): Promise<string> =>
        header(await ask(good(STATS)), "ETag")!.replaceAll('"', "");
      assert.equal(await generation(), before);
      appendFileSync(join(under.snapshot, "users.ndjson"), "\n");
      const second = await until(async () => {
        const now = await generation();
        return now !== before && now;
      }, "the watch to see the change");
      const records = JSON.parse(readFileSync(under.keys, "utf8"));
      appendFileSync(join(under.snapshot, "users.ndjson"), "\n");
      under.server.child.kill("SIGHUP");
      await until(async () => (await generation()) !== second, "the reload");
      // Searches are those of the new generation's thread.
      assert.equal((await ask(good(SEARCH))).status, 200);
      records.keys = records.keys.filter(({ id }: { id: string }) => id !== "twin");
      const twin = requestHead(STATS, [`Authorization: Bearer ${TOKENS.twin}`]);
      assert.equal((await ask(twin)).status, 200);
      spawnSync("sh", ["-c", 'cat > "$1.new" && mv "$1.new" "$1"', "sh", under.keys], {
        input: JSON.stringify(records),
      });
      await until(async () => (await ask(twin)).status === 401, "the key to be gone");
    });

    test("SIGTERM: busy clients lose nothing and are told to leave, then nobody listens, and it exits with 0", async () => {
      const other = await openOn(runtime, ["--log-level", "error"]);
      const wires = await Promise.all(Array.from({ length: 10 }, () => dial(other.port)));
      let turns = 0;
      const busy = wires.map(async (wire) => {
        for (;;) {
          void wire.send(good(STATS));
          const response = await wire.response();
          isStats(response);
          turns++;
          if (header(response, "Connection") === "close") return wire.destroy();
        }
      });
      await until(() => turns > 50, "the clients to be busy");
      const stopped = stopOther(other.server);
      await Promise.all(busy);
      await within(stopped, "the stop", 10_000);
      assert.equal(other.server.stderr(), "");
      await assert.rejects(dial(other.port), { code: "ECONNREFUSED" });
    });

    test("a damaged snapshot and a port in use are told in a line", async () => {
      const place = ["--snapshot", under.snapshot, "--keys", under.keys, "--log-level", "error"];
      await assert.rejects(serveOn(runtime, [...place, "--port", String(under.port)]), /the port is in use/);
      await assert.rejects(serveOn(runtime, ["--snapshot", "/nowhere", "--keys", under.keys]), /nowhere/);
    });

    for (const [file, atLeast] of Object.entries(WIRE_TESTS)) {
      test(`the tests on the wire: ${file}`, () =>
        assertPassesOn({ path: process.execPath }, file, {
          variables: { ORRERY_TEST_RUNTIME: runtime.join(" ") },
          atLeast,
        }));
    }

    test("the conformance suite", () => {
      const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
      const ran = spawnSync(
        process.execPath,
        ["--test-reporter=tap", ...testArguments("test/conformance.test.ts")],
        {
          cwd: ROOT,
          encoding: "utf8",
          env: { ...environment, ORRERY_TEST_PROGRAM: [...runtime, join(ROOT, "dist/main.js")].join(" ") },
          maxBuffer: 1 << 28,
        },
      );
      assert.equal(ran.status, 0, ran.stdout + ran.stderr);
      assert.match(ran.stdout, /every planned case was run/);
    });
  });
}
