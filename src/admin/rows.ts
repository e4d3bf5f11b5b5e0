/** The table of the admin listener: every path that it answers, and by what. */

import type { AdminAsk, AdminReply, AdminRow } from "./request.ts";
import { jsonReply } from "./request.ts";
import type { Readiness, ReloadReply, Status } from "./status.ts";

/** What the rows tell of. */
export interface Administered {
  readonly readiness: () => Readiness;
  readonly status: () => Promise<Status>;
  readonly explain: (ask: AdminAsk) => AdminReply | Promise<AdminReply>;
  /** Undefined when a load is under way already. */
  readonly reload: () => Promise<ReloadReply> | undefined;
}

/** Makes the table. */
export function adminRows({ readiness, status, explain }: Administered): readonly AdminRow[] {
  return [
    { method: "GET", path: "/livez", isOpen: true, answer: () => LIVE },
    {
      method: "GET",
      path: "/readyz",
      isOpen: true,
      answer: () => {
        const ready = readiness();
        return jsonReply(ready.status === "ready" ? 200 : 503, ready);
      },
    },
    { method: "GET", path: "/status", answer: async () => jsonReply(200, await status()) },
    { method: "GET", path: "/explain", answer: explain },
    // ...metricsRows(…): GET /metrics
    // ...pageRows(…): GET / and what the page loads
  ];
}

const LIVE: AdminReply = {
  status: 200,
  headers: { "Content-Type": "text/plain; charset=utf-8" },
  body: "ok",
};
