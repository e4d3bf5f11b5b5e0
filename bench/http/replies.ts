/** Single requests to servers: the reply to record for the constant peers, and the comparison of all peers' replies. */

import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import type { RecordedReply } from "../peers/shared.ts";
import type { Server } from "./servers.ts";
import type { Comparison, Workload } from "./workloads.ts";

/** Size of the sample of replies; all are compared, and one is recorded. */
const SAMPLE = 25;

interface Answer {
  readonly status: number;
  /** As on the wire: names and values in turn. */
  readonly head: readonly string[];
  readonly body: Buffer;
}

function ask(url: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const heard = (response: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode!, head: response.rawHeaders, body: Buffer.concat(chunks) });
      });
    };
    get(url, { headers: { ...headers, Connection: "keep-alive" }, timeout: 10_000 }, heard)
      .on("timeout", function timedOut(this: { destroy(error: Error): void }) {
        this.destroy(new Error(`timeout: ${url}`));
      })
      .on("error", reject);
  });
}

/** Requests from all over a workload. */
function sampleOf({ requests }: Workload): Workload["requests"] {
  const count = Math.min(SAMPLE, requests.length);
  return Array.from({ length: count }, (_, at) => requests[Math.floor((at * requests.length) / count)]!);
}

/** Headers that node:http adds by itself; a recorded copy would be a second one. */
const WRITTEN_BY_NODE = new Set(["date", "connection", "keep-alive"]);

function pairsOf(head: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: head.length / 2 }, (_, at) => [head[at * 2]!, head[at * 2 + 1]!]);
}

/**
 * Asks an orrery for a sample and picks the reply with the size nearest to the mean: a peer that repeats it sends about
 * as many bytes over a whole workload.
 */
export async function recordReply(
  server: Server,
  workload: Workload,
  headers: Readonly<Record<string, string>>,
): Promise<RecordedReply> {
  const answers: Answer[] = [];
  for (const { path } of sampleOf(workload)) {
    const answer = await ask(server.url + path, headers);
    // The key of the 429s may make one request.
    if (answer.status === workload.status) answers.push(answer);
    else if (workload.asker !== "limited" || answers.length > 0) {
      throw new Error(`${server.peer.name}: ${path} answers ${answer.status}, not ${workload.status}`);
    }
  }
  const mean = answers.reduce((sum, { body }) => sum + body.length, 0) / answers.length;
  const off = ({ body }: Answer): number => Math.abs(body.length - mean);
  const { status, head, body } = answers.sort((a, b) => off(a) - off(b))[0]!;
  const pairs = pairsOf(head);
  const keepAlive = pairs.find(([name]) => name.toLowerCase() === "keep-alive")?.[1] ?? "";
  return {
    status,
    headers: pairs.filter(([name]) => !WRITTEN_BY_NODE.has(name.toLowerCase())).flat(),
    body: body.toString("latin1"),
    keepAliveTimeout: Number(/timeout=(\d+)/.exec(keepAlive)?.[1] ?? 5) * 1000,
  };
}

/** A list's envelope without the parts that differ between search engines. */
function shapeOf(body: Buffer): unknown {
  const { data, pagination, ...rest } = JSON.parse(body.toString()) as {
    data: object[];
    pagination: { total: number; limit: number; offset: number };
  };
  const { total, limit, offset, ...more } = pagination;
  assert.ok(Array.isArray(data) && Number.isSafeInteger(total) && data.length <= limit);
  return { limit, offset, more, rest };
}

/** Names of the fields of a list's first item; undefined if the list is empty. */
function fieldsOf(body: Buffer): string | undefined {
  const [first] = (JSON.parse(body.toString()) as { data: object[] }).data;
  return first && Object.keys(first).join();
}

function compare(expected: Answer, actual: Answer, comparison: Comparison): void {
  assert.equal(actual.status, expected.status);
  if (comparison === "equal" || expected.status !== 200) {
    assert.deepEqual(JSON.parse(actual.body.toString()), JSON.parse(expected.body.toString()));
    return;
  }
  assert.deepEqual(shapeOf(actual.body), shapeOf(expected.body));
  const fields = fieldsOf(actual.body);
  if (fields !== undefined) assert.equal(fields, fieldsOf(expected.body) ?? fields);
}

/** Headers with values that differ between moments and servers. */
const PASSING = new Set(["x-ratelimit-remaining", "retry-after"]);

function compareRecorded({ peer }: Server, { headers, status, body }: RecordedReply, actual: Answer): void {
  assert.equal(actual.status, status);
  assert.equal(actual.body.toString("latin1"), body);
  const lasting = pairsOf(actual.head).filter(([name]) => !WRITTEN_BY_NODE.has(name.toLowerCase()));
  if (peer.file === "bare.ts") assert.deepEqual(lasting.flat(), headers);
}

/** Compares a server's replies to a sample of the workload with orrery's. @throws {Error} naming the server and the request */
export async function checkReplies(
  orrery: Server,
  server: Server,
  workload: Workload,
  headers: Readonly<Record<string, string>>,
  recorded: RecordedReply,
): Promise<void> {
  // Uses up the one request of the limited key.
  if (workload.asker === "limited") await ask(server.url + workload.requests[0]!.path, headers);
  for (const { path, comparison } of sampleOf(workload)) {
    try {
      const actual = await ask(server.url + path, headers);
      if (server.peer.recorded) {
        compareRecorded(server, recorded, actual);
        continue;
      }
      const expected = await ask(orrery.url + path, headers);
      compare(expected, actual, comparison);
      if (server.peer.tree === undefined) compareHeads(expected, actual);
    } catch (error) {
      throw new Error(`${server.peer.name}: ${path}: ${(error as Error).message}`);
    }
  }
}

/** Asserts that a peer sends every header that orrery sends, so that no peer has less to write. */
function compareHeads(expected: Answer, actual: Answer): void {
  const sent = new Map(pairsOf(actual.head).map(([name, value]) => [name.toLowerCase(), value]));
  for (const [name, value] of pairsOf(expected.head)) {
    const lower = name.toLowerCase();
    if (WRITTEN_BY_NODE.has(lower)) continue;
    assert.ok(sent.has(lower), `lacks the header ${name}`);
    // The length may differ with the search results.
    if (!PASSING.has(lower) && lower !== "content-length") assert.equal(sent.get(lower), value, name);
  }
}
