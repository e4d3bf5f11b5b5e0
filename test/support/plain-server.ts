/** A server of the API that is no orrery: what the specification says, over rows in memory, in one plain handler of node:http. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Row = Readonly<Record<string, unknown>>;

/** Visible rows, in the order of lists. Texts are compared in ASCII. */
export interface PlainRows {
  readonly users: readonly Row[];
  readonly worlds: readonly Row[];
  readonly worldStats: readonly Row[];
  readonly instances: readonly Row[];
}

/** A status and a body. */
type Reply = readonly [status: number, body: object];

const COUNTS: Readonly<Record<string, string>> = {
  ...{ all: "totalVisits", week: "visitsLast7Days", month: "visitsLast30Days" },
};

function page(rows: readonly Row[], query: URLSearchParams, more: object = {}): Reply {
  const [given, skipped] = ["limit", "offset"].map((name) => query.get(name) ?? "");
  const limit = /^[1-9]\d*$/.test(given!) ? Math.min(Number(given), 50) : 20;
  const offset = /^\d+$/.test(skipped!) ? Number(skipped) : 0;
  const data = rows.slice(offset, offset + limit);
  return [200, { data, pagination: { total: rows.length, limit, offset }, ...more }];
}

/** Rows whose text holds what is searched for: equal ones first, then those that begin with it. */
function found(rows: readonly Row[], field: string, query: URLSearchParams): readonly Row[] | undefined {
  const q = (query.get("q") ?? "").trim().toLowerCase();
  if (q === "") return undefined;
  const rank = (row: Row): number => {
    const text = String(row[field]).toLowerCase();
    return text === q ? 0 : text.startsWith(q) ? 1 : text.includes(q) ? 2 : 3;
  };
  return rows.filter((row) => rank(row) < 3).sort((a, b) => rank(a) - rank(b));
}

function answer(
  { users, worlds, worldStats, instances }: PlainRows,
  path: string,
  query: URLSearchParams,
): Reply {
  const [, table, key = "", part] = path.split("/");
  const statsOf = (id: unknown): Row | undefined => worldStats.find(({ worldId }) => worldId === id);
  const ranked = (field: string): Row[] =>
    [...worlds].sort((a, b) => Number(statsOf(b.id)![field]) - Number(statsOf(a.id)![field]));
  const search = (rows: readonly Row[] | undefined): Reply =>
    rows === undefined ? [400, { error: 'Query parameter "q" is required' }] : page(rows, query);
  const one = (kind: string, row: Row | undefined, then = (data: Row): Reply => [200, { data }]): Reply =>
    row === undefined ? [404, { error: `${kind} not found` }] : then(row);
  const byId = (rows: readonly Row[]): Row | undefined => rows.find(({ id }) => id === key);

  if (path === "/stats") {
    const counts = { totalUsers: users.length, totalPublicWorlds: worlds.length };
    return [200, { data: { ...counts, totalPublicInstances: instances.length } }];
  }
  if (path === "/worlds") return page(worlds, query);
  if (path === "/worlds/popular") {
    const period = query.get("period") ?? "all";
    return page(ranked(COUNTS[period] ?? "totalVisits"), query, { period });
  }
  if (path === "/worlds/search") {
    const rows = ranked("totalVisits").map(({ id, name, description }) => ({ id, name, description }));
    return search(found(rows, "name", query));
  }
  if (path === "/users/search") return search(found(users, "displayName", query));
  if (path === "/instances") {
    const worldId = query.get("worldId");
    return page(worldId === null ? instances : instances.filter((row) => row.worldId === worldId), query);
  }
  if (table === "instances") return one("Instance", byId(instances));
  const list = (rows: readonly Row[], field: string) => (): Reply =>
    page(
      rows.filter((row) => row[field] === key),
      query,
    );
  if (table === "users")
    return one("User", byId(users), part === "worlds" ? list(worlds, "ownerId") : undefined);
  if (part === "stats") return one("World", byId(worlds) && statsOf(key));
  return one("World", byId(worlds), part === "instances" ? list(instances, "worldId") : undefined);
}

/** Serves them to a CLI token on a port of its own. @returns its base URL */
export async function servePlainly(
  test: { after(done: () => void): void },
  rows: PlainRows,
  token: string,
): Promise<string> {
  const handle = ({ url, headers }: IncomingMessage, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(url!, "http://plain");
    const { authorization } = headers;
    const refusal = authorization === undefined ? "Authentication required" : "Invalid token format";
    const [status, body] =
      authorization === `Bearer ${token}`
        ? answer(rows, pathname.replace("/api/public/v1", ""), searchParams)
        : [401, { error: refusal }];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const server = createServer(handle);
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
