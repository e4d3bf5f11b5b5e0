/** `GET /keys`: what became of the requests of one key, or of all, a page at a time. */

import { keyPage, keyStatus } from "./busiest.ts";
import { type AdminAsk, type AdminReply, errorReply, jsonReply } from "./request.ts";
import type { KeysReply } from "./status.ts";
import { keyFigures, type StatusSources } from "./status-reply.ts";

/** The highest `after` that is read; there are never so many keys. */
const MOST_DIGITS = 9;

/**
 * Answers.
 *
 * @param query `id=ID` for one key; nothing, or `after=N` with the `next` of the page before, for all
 */
export function answerKeys(
  { query }: Pick<AdminAsk, "query">,
  sources: Pick<StatusSources, "opened" | "keyUse" | "windowSeconds">,
): AdminReply {
  const asked = new URLSearchParams(query);
  const id = asked.get("id");
  const after = asked.get("after") ?? "0";
  if (!/^\d+$/.test(after) || after.length > MOST_DIGITS) {
    return errorReply(400, "after must be the next of the page before");
  }
  const figures = keyFigures(sources);
  if (figures === undefined) return errorReply(503, "The first snapshot is being loaded");
  const reply = (page: Pick<KeysReply, "keys" | "next">): AdminReply => {
    const startedAt = new Date(performance.timeOrigin).toISOString();
    return jsonReply(200, { startedAt, windowSeconds: sources.windowSeconds, ...page } satisfies KeysReply);
  };
  if (id === null) return reply(keyPage(figures, Number(after), Date.now()));
  const one = keyStatus(figures, id, Date.now());
  return one === undefined ? errorReply(404, "No key has this id") : reply({ keys: [one], next: null });
}
