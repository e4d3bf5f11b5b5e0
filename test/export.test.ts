/** The parts of an export that need no PostgreSQL: queries, statements, URLs, error messages, files of rows. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ROW_FILES } from "../src/model/model.ts";
import { FIELDS, TABLES } from "../src/model/schema.ts";
import { postgresText, readPostgresUrl } from "../src/sources/postgres/postgres-url.ts";
import { copyStatement, DEFAULT_QUERIES, parseQueries } from "../src/sources/postgres/queries.ts";
import { writeRowFile } from "../src/sources/row-folder.ts";
import { temporaryFolder } from "./support/folders.ts";
import { assertInTime } from "./support/patience.ts";

describe("queries", () => {
  it("are there for every file of a snapshot, with every field", () => {
    assert.equal(TABLES.map((table) => `${table}.ndjson`).join(), ROW_FILES.join());
    for (const table of TABLES) {
      const columns = /^SELECT (.*) FROM \w+$/.exec(DEFAULT_QUERIES[table])![1]!.split(", ");
      const fields = FIELDS[table].map(({ name }) => name.toLowerCase());
      assert.equal(columns.join().replaceAll("_", ""), fields.join());
    }
  });

  it("may leave tables out, and name them in any convention", () => {
    const parsed = parseQueries('\uFEFF{"Users.ndjson": "TABLE u ;\\n", "statistics": "TABLE s"}');
    assert.deepEqual(parsed, { ...DEFAULT_QUERIES, users: "TABLE u", "world-stats": "TABLE s" });
    for (const name of ["__proto__", "constructor", "toString"])
      assert.throws(() => parseQueries(`{"${name}": "TABLE u"}`), /there is no table/);
  });
});

it("the statement that copies a table quotes the names of columns and casts types of one's own", () => {
  const columns = [
    { name: "ID", type: "uuid", shown: "uuid" },
    { name: "DISPLAY_name", type: "own", shown: "state" },
    { name: "createdat", type: "timestamp", shown: "" },
    { name: 'a"b', type: "text", shown: "text" },
  ];
  const statement = copyStatement("users", { query: "TABLE u -- comment", columns });
  assert.ok(statement.includes('query."ID" AS "id", query."DISPLAY_name"::text AS "displayName"'), statement);
  assert.ok(statement.includes("\nTABLE u -- comment\n)"), statement);
  assert.ok(!statement.includes('a"b'), statement);
});

describe("a URL of PostgreSQL", () => {
  it("names what must not be printed", () => {
    const { secrets } = readPostgresUrl("postgres://u:a%2Fb%40c@h/d?password=second&sslmode=require", {});
    assert.deepEqual([...secrets].sort(), ["a%2Fb%40c", "a/b@c", "second"]);
    assert.deepEqual(readPostgresUrl("postgresql://u@/d?host=/run", {}).secrets, []);
  });

  it("has no parameter without effect", () => {
    for (const [name, why] of [
      ["sslmod", /has an unknown or unsupported parameter "sslmod"; did you mean "sslmode"\?$/],
      ["schema", /"schema"; there are host, port, /],
      ["target_session_attrs", /"target_session_attrs"/],
      ["uselibpqcompat", /"uselibpqcompat"/],
    ] as const)
      assert.throws(() => readPostgresUrl(`postgres://u@h/d?sslmode=require&${name}=x`, {}), why);
    assert.throws(() => readPostgresUrl("postgres://u@h/d?sslmode=no-verify", {}), /sslmode must be one of/);
    const used = "host=/run&port=1&user=u&options=-csearch_path%3Dother&application_name=a&connect_timeout=2";
    const { connectionStrings, connectMs } = readPostgresUrl(`postgres:///d?${used}`, {});
    assert.equal(connectMs, 2000);
    assert.match(connectionStrings[0]!, /options=-csearch_path%3Dother/);
  });

  it("is refused without a word of it where a part of the password would be taken for something else", () => {
    const secrets = ["u:can/ary@h/d", "u:1?canary@h/d", "u:1#canary@h/d", "u:can/ary"];
    for (const text of [...secrets.map((one) => `postgres://${one}`), "http://canary", "canary"]) {
      const refusal = { name: "SourceError", message: /^(?!.*(can(?! )|ary))/ };
      assert.throws(() => readPostgresUrl(text, {}), refusal, text);
    }
  });
});

it("errors of PostgreSQL are one line without a secret", () => {
  const told = { hint: "Ask\ncanary", code: "28000" };
  const error = Object.assign(new Error("role canary\nis not there"), told);
  assert.equal(postgresText(error, ["canary"]), "role ***; Ask (28000)");
  const refused = Object.assign(new Error(""), { code: "ECONNREFUSED", syscall: "connect", errno: -111 });
  assert.equal(postgresText(new AggregateError([refused]), []), "connection refused (ECONNREFUSED)");
  assert.equal(postgresText(new Error("timeout expired"), []), "no answer in time");
  const began = performance.now();
  for (const [part, shown] of [
    ["x", /^x{1000}…; x{1000}…$/],
    ["\n", /^; $/],
    ["canary", /^\*{400,600}…; \*{400,600}…$/],
  ] as const) {
    const long = part.repeat(50_000_000 / part.length);
    const error = Object.assign(new Error(long), { hint: long });
    assert.match(postgresText(error, ["canary", "can"]), shown);
  }
  assertInTime(began, 2500);
});

describe("a file of rows", () => {
  it("holds no more than a snapshot may have", async (test) => {
    const file = join(temporaryFolder(test), "users.ndjson");
    async function* rows(): AsyncGenerator<Buffer> {
      for (let n = 0; n < 130; n++) yield Buffer.from('{"a":1}\n'.repeat(1000));
    }
    const bounds = { budget: { bytesLeft: 1_000_000 }, onBytes: () => {} };
    const message = "users.ndjson: the snapshot is larger than 16 GiB";
    await assert.rejects(writeRowFile(file, rows(), false, bounds), { message });
  });
});
