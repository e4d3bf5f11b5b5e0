/** Routes a request of the admin listener to a row of its table, or refuses it. */

import { createHash, timingSafeEqual } from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createRouter } from "../api/router.ts";
import { sliceAll } from "../model/body.ts";
import { type Ask, type Reply, splitTarget } from "../model/message.ts";

export interface AdminRow {
  /** A GET row answers HEAD, too. */
  readonly method: "GET" | "POST";
  readonly path: string;
  /** `open` needs no token. `action` needs the header `X-Orrery-Admin: 1`, which pages of other origins cannot send. */
  readonly access?: "open" | "action";
  /** Whether it blocks a thread that answers requests for milliseconds; the answers of such a row take turns. */
  readonly isCostly?: true;
  readonly answer: (ask: Ask) => Reply | Promise<Reply>;
  /** Answers a request without the token, with the status 401; if absent, a plain error does. */
  readonly signIn?: (ask: Ask) => Promise<Reply>;
}

type HeaderLines = Readonly<Record<string, string>>;

/** Headers of every reply, unless it overrides them. */
const HEADERS: HeaderLines = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

export const ASKS_FOR_TOKEN = { "WWW-Authenticate": "Bearer" } as const;

/** A reply with the common headers and, except on a 304, its length. */
export function adminReply(status: number, headers: HeaderLines, body: string | Buffer): Reply {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const { length } = bytes;
  const all = { ...HEADERS, ...headers, ...(status === 304 ? {} : { "Content-Length": String(length) }) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const sent = { length, head: "", slices: sliceAll(bytes), end: "", isShared: true } as const;
  return { status, headers: lines.join(""), body: length > 0 ? sent : "", route: "", keyId: "" };
}

export const JSON_TYPE = { "Content-Type": "application/json; charset=utf-8" } as const;

/** A reply in JSON, with a newline at its end for people at a terminal. */
export function jsonReply(status: number, value: unknown, headers: HeaderLines = {}): Reply {
  return adminReply(status, { ...JSON_TYPE, ...headers }, `${JSON.stringify(value)}\n`);
}

export function errorReply(status: number, error: string, headers: HeaderLines = {}): Reply {
  return jsonReply(status, { error }, headers);
}

export function queryOf({ target }: Pick<Ask, "target">): string {
  return splitTarget(target).query;
}

/** Maximum number of waiting requests of a costly row. */
const MOST_WAITING = 32;
/** Ratio of a pause to the duration of the request before it. */
const PAUSE = 9;
const MOST_PAUSE_MS = 100;

/** Runs the answers of a row one at a time, with pauses that leave the thread to others. */
function paced(row: AdminRow): AdminRow["answer"] {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return (ask) => {
    if (waiting >= MOST_WAITING) return errorReply(503, "Too many requests wait");
    waiting++;
    let began = 0;
    const reply = last.then(() => {
      waiting--;
      began = performance.now();
      return ask.isGone?.() ? errorReply(503, "Nobody waits") : row.answer(ask);
    });
    const pause = (): Promise<void> =>
      sleep(Math.min((performance.now() - began) * PAUSE, MOST_PAUSE_MS), undefined, { ref: false });
    last = reply.then(pause, pause);
    return reply;
  };
}

/** Creates a check of the header `Authorization`: its duration depends only on the length of the text. */
function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const digestOf = (text: string): Buffer => createHash("sha256").update(text, "latin1").digest();
  const wanted = digestOf(token);
  return (authorization = "") => {
    const [scheme] = /^bearer +/i.exec(authorization) ?? [];
    return scheme !== undefined && timingSafeEqual(digestOf(authorization.slice(scheme.length)), wanted);
  };
}

/**
 * Whether an authority is an IP address, `localhost`, the host of `--admin`, or one of `--admin-names`. A foreign page with a host name that
 * resolves to this machine ("DNS rebinding") has the same origin as the listener, but it cannot choose the `Host` that
 * the browser sends.
 */
export function isKnownHost(authority: string, names: readonly string[]): boolean {
  const [, host = ""] = /^(\[[^\]]*\]|[^:@[\]]*)(?::\d{1,5})?$/.exec(authority.toLowerCase()) ?? [];
  if (host.startsWith("[")) return isIPv6(host.slice(1, -1));
  return (
    host !== "" && (isIPv4(host) || host === "localhost" || names.some((name) => name.toLowerCase() === host))
  );
}

/** Checks the `Host` header and the host of a target in absolute form. */
function namesForeignHost({ target, headers }: Ask, names: readonly string[]): boolean {
  const [, authority] = /^https?:\/\/([^/?#]*)/i.exec(target) ?? [];
  const named = [authority, headers?.get("host") ?? undefined];
  return named.some((host) => host !== undefined && !isKnownHost(host, names));
}

const WRONG_HOST = "Host must be an IP address, localhost, or a name that --admin or --admin-names was given";

export function createAdminRouter(
  rows: readonly AdminRow[],
  { names, token }: { readonly names: readonly string[]; readonly token: string | undefined },
): (ask: Ask) => Reply | Promise<Reply> {
  const paths = rows.map((row) => (row.isCostly ? { ...row, answer: paced(row) } : row));
  const find = createRouter(paths, "");
  const isAllowed = token === undefined ? () => true : tokenCheck(token);
  return (ask) => {
    const found = find(splitTarget(ask.target).path)?.route;
    const row = found?.method === (ask.method === "HEAD" ? "GET" : ask.method) ? found : undefined;
    const isOpen = row?.access === "open";
    const isAsked = isAllowed(ask.authorization);
    // No foreign page has the token, and health is no secret.
    const mayHaveAnyHost = isOpen || (token !== undefined && isAsked);
    if (!mayHaveAnyHost && namesForeignHost(ask, names)) {
      return errorReply(421, WRONG_HOST);
    }
    if (!isOpen && !isAsked) {
      return row?.signIn?.(ask) ?? errorReply(401, "Authentication required", ASKS_FOR_TOKEN);
    }
    if (found === undefined) return errorReply(404, "Not found");
    if (row === undefined) {
      return errorReply(405, "Method not allowed", { Allow: found.method === "GET" ? "GET, HEAD" : "POST" });
    }
    if (row.access === "action" && ask.headers?.get("x-orrery-admin") !== "1") {
      return errorReply(403, "The header X-Orrery-Admin: 1 is required");
    }
    return row.answer(ask);
  };
}
