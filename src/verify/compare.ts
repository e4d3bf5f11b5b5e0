/** Two answers to one request, side by side: what differs, by kind. "Here" is the snapshot, "there" the other server. */

import { isObject } from "../util/json.ts";
import { type ApiAnswer, difference, type Finding, fieldsThatDiffer } from "./difference.ts";
import type { Here } from "./here.ts";

/** Headers that the specification does not name, and whose values are the same wherever the data are. */
const NOTED_HEADERS = [
  "content-type",
  "cache-control",
  "www-authenticate",
  "access-control-allow-origin",
  "access-control-expose-headers",
] as const;

function fieldsOf(target: string, name: string, here: unknown, there: unknown): Finding[] {
  return Array.from(fieldsThatDiffer(here, there), (found) =>
    difference("field", target, found.path === "" ? name : `${name} ${found.path}`, found.here, found.there),
  );
}

function compareHeaders(target: string, here: ApiAnswer, there: ApiAnswer): Finding[] {
  const found: Finding[] = [];
  for (const name of NOTED_HEADERS) {
    const [ours, theirs] = [here.header(name), there.header(name)];
    if (ours !== theirs) found.push(difference("note", target, name, ours, theirs));
  }
  // Its value names the other server's generation.
  if ((here.header("etag") === undefined) !== (there.header("etag") === undefined)) {
    found.push(difference("note", target, "etag", here.header("etag"), there.header("etag")));
  }
  const limits = ["limit", "remaining", "reset"].map((name) => `x-ratelimit-${name}`);
  const said = limits.filter((name) => /^\d+$/.test(there.header(name) ?? ""));
  if (said.length > 0 && said.length < limits.length) {
    const missing = limits.find((name) => !said.includes(name))!;
    found.push(difference("header", target, missing, "a number", there.header(missing)));
  }
  return found;
}

function rowsIn(body: unknown): readonly Record<string, unknown>[] | undefined {
  return isObject(body) && Array.isArray(body.data) && body.data.every(isObject) ? body.data : undefined;
}

function idIn(row: unknown): string {
  return isObject(row) ? String(row.id ?? row.worldId).toLowerCase() : "";
}

/** Rows of a page against the whole list here: which are unknown, left out, in another order, or otherwise. */
async function compareRows(target: string, ours: unknown, theirs: unknown, here: Here): Promise<Finding[]> {
  const rows = rowsIn(theirs)!;
  const known = new Map((rowsIn(ours) ?? []).map((row) => [idIn(row), row]));
  const { ids, places } = await here.listOf(target);
  const found: Finding[] = [];
  const there = new Set<number>();
  let last = -1;
  let isInOrder = true;
  for (const row of rows) {
    const id = idIn(row);
    const place = places.get(id);
    if (place === undefined) {
      found.push(difference("missing row", target, id, undefined, row));
      continue;
    }
    found.push(...fieldsOf(target, id, known.get(id) ?? (await here.rowOf(target, id)), row));
    if (place < last || there.has(place)) {
      isInOrder = false;
      found.push(difference("order", target, id, place, last));
    }
    last = Math.max(last, place);
    there.add(place);
  }
  if (!isInOrder) return found;
  const { offset = 0, total = 0 } = (theirs as { pagination: { offset?: number; total?: number } })
    .pagination;
  if (rows.length === 0 && offset > 0) return found;
  const from = offset === 0 ? 0 : Math.min(...there);
  const to = offset + rows.length >= total ? ids.length : last + 1;
  const isExtra = (id: string): boolean => places.get(id)! >= from && !there.has(places.get(id)!);
  const extra = ids.slice(0, to).filter(isExtra);
  return [...found, ...extra.map((id) => difference("extra row", target, id, places.get(id)))];
}

async function compareLists(target: string, ours: unknown, theirs: unknown, here: Here): Promise<Finding[]> {
  const { data: _ours, pagination: page = {}, ...more } = ours as Record<string, unknown>;
  const { data: _theirs, pagination: otherPage, ...otherMore } = theirs as Record<string, unknown>;
  if (!isObject(otherPage) || rowsIn(theirs) === undefined) {
    return [difference("field", target, "data", page, theirs)];
  }
  const { total, ...rest } = page as Record<string, unknown>;
  const { total: otherTotal, ...otherRest } = otherPage;
  const found: Finding[] = [];
  if (total !== otherTotal) found.push(difference("total", target, "pagination.total", total, otherTotal));
  found.push(
    ...fieldsOf(target, "pagination", rest, otherRest),
    ...fieldsOf(target, "envelope", more, otherMore),
  );
  return [...found, ...(await compareRows(target, ours, theirs, here))];
}

function isRefusal(status: number): boolean {
  return status >= 400;
}

/** Compares what the snapshot answers with what the other server answered. */
export async function compareAnswers(
  target: string,
  ours: ApiAnswer,
  theirs: ApiAnswer,
  here: Here,
): Promise<Finding[]> {
  if (ours.status !== theirs.status) {
    const path = target.split("?")[0]!;
    if (ours.status === 404 && theirs.status === 200)
      return [difference("missing row", target, path, undefined, theirs.body)];
    if (ours.status === 200 && theirs.status === 404)
      return [difference("extra row", target, path, ours.body)];
    return [difference("status", target, "status", ours.status, theirs.status)];
  }
  const headers = compareHeaders(target, ours, theirs);
  if (isRefusal(ours.status)) {
    const [message, other] = [ours.body, theirs.body].map((body) =>
      isObject(body) ? body.error : undefined,
    );
    if (message === other) return headers;
    return [...headers, difference("error message", target, "error", message, other)];
  }
  const isList = isObject(ours.body) && Array.isArray(ours.body.data);
  if (isList) return [...headers, ...(await compareLists(target, ours.body, theirs.body, here))];
  const [data, otherData] = [ours.body, theirs.body].map((body) => (isObject(body) ? body.data : undefined));
  return [...headers, ...fieldsOf(target, "data", data, otherData)];
}
