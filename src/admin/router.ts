/** From a request to a row of the table, or to what is wrong with it. */

import { splitTarget } from "../model/target.ts";
import { isKnownHost } from "./host.ts";
import { paced } from "./pace.ts";
import { type AdminAsk, type AdminReply, type AdminRow, errorReply } from "./request.ts";
import type { CheckToken } from "./token.ts";

/** A request as far as it decides who answers. */
export interface AdminCall extends AdminAsk {
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  /** The header `X-Orrery-Admin`. */
  readonly action: string | undefined;
}

/** Who is let in. */
export interface AdminGate {
  /** What `--admin` named. */
  readonly boundHost: string;
  /** Undefined where no token is asked for. */
  readonly checkToken: CheckToken | undefined;
}

const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

function withHeaders(reply: AdminReply, headers: Readonly<Record<string, string>>): AdminReply {
  return { ...reply, headers: { ...reply.headers, ...headers } };
}

/** The hosts that a request names: that of its target, in the absolute form, as well. */
function namesForeignHost({ target, host }: AdminCall, boundHost: string): boolean {
  const [, authority] = AUTHORITY.exec(target) ?? [];
  return [authority, host].some((named) => named !== undefined && !isKnownHost(named, boundHost));
}

/** Makes what answers requests. */
export function createAdminRouter(
  rows: readonly AdminRow[],
  { boundHost, checkToken }: AdminGate,
): (call: AdminCall) => AdminReply | Promise<AdminReply> {
  const byPath = new Map<string, AdminRow[]>();
  for (const row of rows) {
    const taken = row.isCostly ? { ...row, answer: paced(row) } : row;
    byPath.set(row.path, [...(byPath.get(row.path) ?? []), taken]);
  }

  async function unauthorized(row: AdminRow | undefined, call: AdminCall): Promise<AdminReply> {
    const reply = row?.asksForToken
      ? { ...(await row.answer({ ...call, ifNoneMatch: undefined })), status: 401 }
      : errorReply(401, "Authentication required");
    return withHeaders(reply, { "WWW-Authenticate": "Bearer" });
  }

  return (call) => {
    if (namesForeignHost(call, boundHost)) {
      return errorReply(421, "Host must be an IP address, localhost or the name that --admin was given");
    }
    const { path } = splitTarget(call.target);
    const found = byPath.get(path) ?? [];
    const method = call.method === "HEAD" ? "GET" : call.method;
    const row = found.find((one) => one.method === method);
    if (!row?.isOpen && checkToken !== undefined && !checkToken(call.authorization)) {
      return unauthorized(row, call);
    }
    if (found.length === 0) return errorReply(404, "Not found");
    if (row === undefined) {
      const allowed = found.flatMap((one) => (one.method === "GET" ? ["GET", "HEAD"] : [one.method]));
      return withHeaders(errorReply(405, "Method not allowed"), { Allow: allowed.join(", ") });
    }
    if (row.isAction && call.action !== "1")
      return errorReply(403, "The header X-Orrery-Admin: 1 is required");
    return row.answer(call);
  };
}
