/** One interface for the three doors, and a comparison of their answers with the model. */

import assert from "node:assert/strict";
import { Agent, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import type { DirectDoor, FetchHandler } from "../../src/mod.ts";
import { CANARY, HIDDEN } from "../support/snapshot.ts";
import { brief, differenceOf } from "./difference.ts";
import { type Expected, JUDGED_HEADERS, joinedOf, type Model, valuesOf } from "./model.ts";

export type DoorName = "node" | "handler" | "fetch" | "direct";

export interface Step {
  /** GET when absent. */
  method?: string;
  /** Exact text in the request line. */
  target: string;
  headers?: readonly (readonly [name: string, value: string])[];
  /** Only the HTTP door sends it. */
  body?: string;
  /** The clock; only the direct door can set it. */
  now?: number;
}

export interface Got {
  status: number;
  /** In order, names in lower case, duplicates kept. */
  headers: [name: string, value: string][];
  body: string;
}

export interface Door {
  name: DoorName;
  ask: (step: Step) => Promise<Got>;
  close: () => void;
}

/** HTTP to a listening server. Sends targets unchanged. */
export function nodeDoor(url: string, name: "node" | "handler" = "node"): Door {
  const { hostname, port, host } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    name,
    close: () => agent.destroy(),
    ask: ({ method = "GET", target, headers = [], body }) =>
      new Promise((resolve, reject) => {
        const hasBody = !["GET", "HEAD", "OPTIONS"].includes(method);
        const length = hasBody ? ["Content-Length", String(Buffer.byteLength(body ?? ""))] : [];
        const list = ["Host", host, ...headers.flat(), ...length];
        const options = { hostname, port, agent, method, path: target, headers: list };
        const request = httpRequest(options, (response) => {
          const { rawHeaders: raw, statusCode } = response;
          const pairs: [string, string][] = [];
          for (let at = 0; at < raw.length; at += 2) pairs.push([raw[at]!.toLowerCase(), raw[at + 1]!]);
          text(response).then((all) => resolve({ status: statusCode!, headers: pairs, body: all }), reject);
        });
        request.on("error", reject);
        request.end(body);
      }),
  };
}

export function fetchDoor(fetch: FetchHandler): Door {
  return {
    name: "fetch",
    close: () => {},
    async ask({ method = "GET", target, headers = [] }) {
      const list = new Headers();
      for (const [name, value] of headers) list.append(name, value);
      const url = target.startsWith("/") ? `http://orrery.test${target}` : target;
      const response = await fetch(new Request(url, { method, headers: list }));
      return { status: response.status, headers: [...response.headers], body: await response.text() };
    },
  };
}

export function directDoor(ask: DirectDoor): Door {
  return {
    name: "direct",
    close: () => {},
    async ask({ method = "GET", target, headers = [], now }) {
      const { status, body, ...reply } = await ask({
        method,
        target,
        authorization: valuesOf(headers, "authorization")[0],
        ifMatch: joinedOf(headers, "if-match"),
        ifNoneMatch: joinedOf(headers, "if-none-match"),
        ...(now === undefined ? {} : { now }),
      });
      return { status, headers: Object.entries(reply.headers), body };
    },
  };
}

/**
 * Whether a web-standard request can carry a step unchanged. It cannot tell two Authorization headers from one with both
 * values, and takes no user name in a URL.
 */
export function fitsFetch({ method = "GET", target, headers = [] }: Step): boolean {
  if (method === "TRACE" || valuesOf(headers, "authorization").length > 1) return false;
  const url = new URL(target, "http://orrery.test");
  if (url.hash !== "" || url.username !== "") return false;
  const [path] = target.replace(/^https?:\/\/[^/?#]*/i, "").split("?", 1);
  return url.pathname === path;
}

const NOT_PROMISED_ON_204: ReadonlySet<string> = new Set(["access-control-expose-headers", "cache-control"]);

function sortedNames(value: string | undefined): string | undefined {
  return value
    ?.split(",")
    .map((name) => name.trim().toLowerCase())
    .sort()
    .join(", ");
}

/**
 * Sends a step to a door and to the model, and compares the answers.
 *
 * @returns the answer of the door
 */
export async function askAndCompare(door: Door, model: Model, step: Step): Promise<Got> {
  const before = Date.now();
  const got = await door.ask(step);
  const waited = step.now === undefined ? Math.ceil((Date.now() - before) / 1000) : 0;
  const expected = model.ask({
    method: step.method ?? "GET",
    target: step.target,
    headers: step.headers ?? [],
    now: step.now ?? before,
  });
  compare(got, expected, waited);
  return got;
}

/** @param waited seconds by which Retry-After may be lower */
function compare(got: Got, expected: Expected, waited: number): void {
  assert.equal(
    got.status,
    expected.status,
    `status ${got.status}, not ${expected.status}: ${brief(got.body)}`,
  );
  if (got.body !== expected.body) assert.fail(`body: ${differenceOf(expected.body, got.body)}`);
  const headers = new Map(got.headers);
  assert.equal(headers.size, got.headers.length, `a header is there twice: ${JSON.stringify(got.headers)}`);
  for (const name of JUDGED_HEADERS) {
    if (expected.status === 204 && NOT_PROMISED_ON_204.has(name)) continue;
    const value = headers.get(name);
    const wanted = expected.headers[name];
    if (name === "retry-after" && wanted !== undefined) {
      const seconds = Number(value);
      const isNear = seconds <= Number(wanted) && seconds >= Math.max(1, Number(wanted) - waited);
      assert.ok(isNear && value === String(seconds), `${name} is ${value}, not ${wanted}`);
    } else if (name.startsWith("access-control-") && name.endsWith("-headers")) {
      assert.equal(sortedNames(value), wanted, name);
    } else {
      assert.equal(value, wanted, `${name} is ${value}, not ${wanted}`);
    }
  }
  if (expected.length !== undefined) {
    assert.equal(headers.get("content-length"), String(expected.length), "content-length");
    assert.match(headers.get("content-type") ?? "", /^application\/json(;|$)/, "content-type");
  }
  for (const secret of [CANARY, HIDDEN]) {
    assert.ok(!got.body.includes(secret), `${secret} in the body`);
    assert.ok(!JSON.stringify(got.headers).includes(secret), `${secret} in the headers`);
  }
}
