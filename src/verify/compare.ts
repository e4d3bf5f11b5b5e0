/** Two answers to one request, side by side: the differences, by kind. "Here" is the snapshot, "there" the other server. */

import { createRouter } from "../api/router.ts";
import { ROUTES } from "../api/routes.ts";
import type { DirectDoor } from "../http/direct.ts";
import { BASE_PATH } from "../model/model.ts";
import { RESOURCES } from "../model/schema.ts";
import { splitTarget } from "../model/target.ts";
import { isObject } from "../util/json.ts";
import type { Probe } from "./plan.ts";

/** What can differ. */
export const KINDS = [
  "status",
  "error message",
  "header",
  "total",
  "missing row",
  "extra row",
  "order",
  "field",
] as const;

/** One of {@link KINDS}. */
export type DifferenceKind = (typeof KINDS)[number];

/** One difference, as it was found. */
export interface Finding {
  /** "note" is a header that the API's specification does not name: another server may well do without. */
  readonly kind: DifferenceKind | "note";
  /** The request. */
  readonly target: string;
  /** What differs: a field, a header or an id. */
  readonly what: string;
  /** Undefined where there is nothing. */
  readonly here: unknown;
  readonly there: unknown;
}

/** One difference, as it is told. */
export interface Difference extends Finding {
  /** As JSON, cut off where it is long. */
  readonly here: string | undefined;
  readonly there: string | undefined;
}

/** What many answers have in common that is no difference. */
export interface Note extends Pick<Difference, "target" | "what" | "here" | "there"> {
  /** How many answers; `target` is one of them. */
  readonly answers: number;
}

/** An answer. */
export interface ApiAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly body: unknown;
}

const LONGEST_SHOWN = 120;

function shown(value: unknown, hide: (text: string) => string): string | undefined {
  if (value === undefined) return undefined;
  const text = hide(JSON.stringify(value));
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

/** What differs within two values, by path. */
export function* fieldsThatDiffer(
  here: unknown,
  there: unknown,
  path = "",
): Generator<{ path: string; here: unknown; there: unknown }> {
  if (isObject(here) && isObject(there)) {
    for (const name of new Set([...Object.keys(here), ...Object.keys(there)])) {
      yield* fieldsThatDiffer(here[name], there[name], path === "" ? name : `${path}.${name}`);
    }
  } else if (JSON.stringify(here) !== JSON.stringify(there)) {
    yield { path, here, there };
  }
}

/** Makes a difference. */
export function difference(
  kind: Finding["kind"],
  target: string,
  what: string,
  here?: unknown,
  there?: unknown,
): Finding {
  return { kind, target, what, here, there };
}

/**
 * A difference for people.
 *
 * @param hide takes the other server's token out of a text: it may repeat it, also in names that are in the snapshot by now
 */
export function tellDifference(
  { kind, target, what, here, there }: Finding,
  hide: (text: string) => string,
): Difference {
  return { kind, target: hide(target), what: hide(what), here: shown(here, hide), there: shown(there, hide) };
}

const PAGE = 50;
const route = createRouter(ROUTES, "");

/** A whole list of the snapshot. */
export interface WholeList {
  /** Ids in order. */
  readonly ids: readonly string[];
  /** Places by id. */
  readonly places: ReadonlyMap<string, number>;
}

/** A snapshot that is asked. */
export class Here {
  readonly #ask: DirectDoor;
  readonly #token: string;
  readonly #lists = new Map<string, Promise<WholeList>>();

  /** @param token that it takes */
  constructor(ask: DirectDoor, token: string) {
    this.#ask = ask;
    this.#token = token;
  }

  async answer({ target, authorization = `Bearer ${this.#token}` }: Probe): Promise<ApiAnswer> {
    const ask = { target: BASE_PATH + target, authorization: authorization ?? undefined };
    const { status, headers, body } = await this.#ask(ask);
    return { status, header: (name) => headers[name], body: body === "" ? undefined : JSON.parse(body) };
  }

  /** The list that a target is a page of. */
  listOf(target: string): Promise<WholeList> {
    const [path = "", words] = target.split("?");
    const query = new URLSearchParams(words);
    query.delete("limit");
    query.delete("offset");
    const key = query.size === 0 ? path : `${path}?${query}`;
    const known = this.#lists.get(key) ?? this.#wholeList(key);
    this.#lists.set(key, known);
    return known;
  }

  /** A row of such a list, by its id; undefined when there is none. */
  async rowOf(target: string, id: string): Promise<unknown> {
    const { table, fields } = RESOURCES[route(splitTarget(target).path)!.route.reply.schema];
    const { body } = await this.answer({ target: `/${table}/${id}` });
    const row = (body as { data: Record<string, unknown> }).data;
    return Object.fromEntries(fields.map(({ name }) => [name, row[name]]));
  }

  async #wholeList(path: string): Promise<WholeList> {
    const ids: string[] = [];
    for (;;) {
      const target = `${path}${path.includes("?") ? "&" : "?"}limit=${PAGE}&offset=${ids.length}`;
      const { body } = await this.answer({ target });
      const { data } = body as { data: { id: string }[] };
      ids.push(...data.map(({ id }) => id));
      if (data.length < PAGE) return { ids, places: new Map(ids.map((id, place) => [id, place])) };
    }
  }
}

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
