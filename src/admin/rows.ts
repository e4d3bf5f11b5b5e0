/** The table of the admin listener: every path that it answers, and by what. */

import { readBoolean } from "../settings/settings.ts";
import { pageRow } from "./page.ts";
import type { AdminAsk, AdminReply, AdminRow } from "./request.ts";
import { errorReply, jsonReply } from "./request.ts";
import type { Readiness, ReloadReply, Status, TimelineReply } from "./status.ts";

/** What the rows answer from. */
export interface Administered {
  readonly readiness: () => Readiness;
  readonly status: () => Promise<Status>;
  readonly keys: (ask: AdminAsk) => AdminReply;
  readonly timeline: () => TimelineReply;
  readonly explain: (ask: AdminAsk) => Promise<AdminReply>;
  /** Undefined when a load is under way already. */
  readonly reload: (allowShrink: boolean) => Promise<ReloadReply> | undefined;
}

const LIVE: AdminReply = {
  status: 200,
  headers: { "Content-Type": "text/plain; charset=utf-8" },
  body: "ok",
};

function readyReply(ready: Readiness): AdminReply {
  return jsonReply(ready.status === "ready" ? 200 : 503, ready);
}

/** `?allow-shrink=1` takes a snapshot once that has less than half of the users or worlds. */
async function reloadReply({ readiness, reload }: Administered, { query }: AdminAsk): Promise<AdminReply> {
  if (readiness().status === "draining") return errorReply(503, "The server is stopping");
  const allowShrink = readBoolean(new URLSearchParams(query).get("allow-shrink") ?? "off");
  if (allowShrink === undefined) return errorReply(400, "allow-shrink must be on or off");
  const reloaded = await reload(allowShrink);
  return reloaded === undefined ? errorReply(409, "A load is under way") : jsonReply(200, reloaded);
}

/** Makes the table. */
export function adminRows(administered: Administered): readonly AdminRow[] {
  const { readiness, status, keys, timeline, explain } = administered;
  return [
    { method: "GET", path: "/livez", isOpen: true, answer: () => LIVE },
    { method: "GET", path: "/readyz", isOpen: true, answer: () => readyReply(readiness()) },
    { method: "GET", path: "/status", isCostly: true, answer: async () => jsonReply(200, await status()) },
    { method: "GET", path: "/keys", isCostly: true, answer: keys },
    { method: "GET", path: "/history", isCostly: true, answer: () => jsonReply(200, timeline()) },
    { method: "GET", path: "/explain", isCostly: true, answer: explain },
    { method: "POST", path: "/reload", isAction: true, answer: (ask) => reloadReply(administered, ask) },
    pageRow(),
  ];
}
