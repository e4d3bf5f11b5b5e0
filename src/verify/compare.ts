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

export type DifferenceKind = (typeof KINDS)[number];

/** One difference. */
export interface Difference {
  /** "note" is a header that the API's specification does not name: another server may well do without. */
  readonly kind: DifferenceKind | "note";
  /** The request. */
  readonly target: string;
  /** What differs: a field, a header or an id. */
  readonly what: string;
  /** As JSON, cut off where it is long; undefined where there is nothing. */
  readonly here: string | undefined;
  readonly there: string | undefined;
}

/** An answer. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Most characters of a value in a difference. */
const LONGEST_SHOWN = 120;
/** Rows in a page of the snapshot. */
const PAGE = 50;
const route = createRouter(ROUTES, "");

/** A whole list of the snapshot. */
interface WholeList {
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
    return { status, headers: new Headers(headers), body: body === "" ? undefined : JSON.parse(body) };
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

/** Takes a difference in. */
type Tell = (kind: Difference["kind"], what: string, here?: unknown, there?: unknown) => void;

function compareFields(tell: Tell, what: string, here: unknown, there: unknown, separator = " "): void {
  if (isObject(here) && isObject(there)) {
    for (const name of new Set([...Object.keys(here), ...Object.keys(there)]))
      compareFields(tell, what + separator + name, here[name], there[name], ".");
  } else if (JSON.stringify(here) !== JSON.stringify(there)) {
    tell("field", what, here, there);
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
const LIMIT_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

function compareHeaders(tell: Tell, here: Headers, there: Headers): void {
  const note = (name: string): void =>
    tell("note", name, here.get(name) ?? undefined, there.get(name) ?? undefined);
  for (const name of NOTED_HEADERS) if (here.get(name) !== there.get(name)) note(name);
  // Its value names the other server's generation.
  if (here.has("etag") !== there.has("etag")) note("etag");
  const missing = LIMIT_HEADERS.filter((name) => !/^\d+$/.test(there.get(name) ?? ""));
  if (missing.length > 0 && missing.length < LIMIT_HEADERS.length)
    tell("header", missing[0]!, "a number", there.get(missing[0]!) ?? undefined);
}

type Body = Readonly<Record<string, unknown>>;

function rowsIn(body: Body): readonly Body[] | undefined {
  return Array.isArray(body.data) && body.data.every(isObject) ? body.data : undefined;
}

function idIn(row: Body): string {
  return String(row.id ?? row.worldId).toLowerCase();
}

/** Rows of a page against the whole list here: which are unknown, left out, in another order, or otherwise. */
async function compareRows(tell: Tell, target: string, ours: Body, theirs: Body, here: Here): Promise<void> {
  const rows = rowsIn(theirs)!;
  const known = new Map((rowsIn(ours) ?? []).map((row) => [idIn(row), row]));
  const { ids, places } = await here.listOf(target);
  const there = new Set<number>();
  let last = -1;
  let isInOrder = true;
  for (const row of rows) {
    const id = idIn(row);
    const place = places.get(id);
    if (place === undefined) {
      tell("missing row", id, undefined, row);
      continue;
    }
    compareFields(tell, id, known.get(id) ?? (await here.rowOf(target, id)), row);
    if (place < last || there.has(place)) {
      isInOrder = false;
      tell("order", id, place, last);
    }
    last = Math.max(last, place);
    there.add(place);
  }
  const { offset = 0, total = 0 } = theirs.pagination as { offset?: number; total?: number };
  if (!isInOrder || (rows.length === 0 && offset > 0)) return;
  const to = offset + rows.length >= total ? ids.length : last + 1;
  for (let place = offset === 0 ? 0 : Math.min(...there); place < to; place++)
    if (!there.has(place)) tell("extra row", ids[place]!, place);
}

async function compareLists(tell: Tell, target: string, ours: Body, theirs: Body, here: Here): Promise<void> {
  const { data: _ours, pagination: page = {}, ...more } = ours;
  const { data: _theirs, pagination: otherPage, ...otherMore } = theirs;
  if (!isObject(otherPage) || rowsIn(theirs) === undefined) {
    tell("field", "data", page, theirs);
    return;
  }
  const { total, ...rest } = page as Body;
  const { total: otherTotal, ...otherRest } = otherPage;
  if (total !== otherTotal) tell("total", "pagination.total", total, otherTotal);
  compareFields(tell, "pagination", rest, otherRest);
  compareFields(tell, "envelope", more, otherMore);
  await compareRows(tell, target, ours, theirs, here);
}

async function compare(
  tell: Tell,
  target: string,
  ours: ApiAnswer,
  theirs: ApiAnswer,
  here: Here,
): Promise<void> {
  if (ours.status !== theirs.status) {
    const path = target.split("?")[0]!;
    if (ours.status === 404 && theirs.status === 200) tell("missing row", path, undefined, theirs.body);
    else if (ours.status === 200 && theirs.status === 404) tell("extra row", path, ours.body);
    else tell("status", "status", ours.status, theirs.status);
    return;
  }
  compareHeaders(tell, ours.headers, theirs.headers);
  const [body, otherBody] = [ours.body, theirs.body].map((one): Body => (isObject(one) ? one : {}));
  if (ours.status >= 400) {
    if (body!.error !== otherBody!.error) tell("error message", "error", body!.error, otherBody!.error);
  } else if (Array.isArray(body!.data)) await compareLists(tell, target, body!, otherBody!, here);
  else compareFields(tell, "data", body!.data, otherBody!.data);
}

/** Compares two answers. @param hide takes the other server's token out: it may repeat it, also in names that are here by now */
export async function compareAnswers(
  target: string,
  ours: ApiAnswer,
  theirs: ApiAnswer,
  here: Here,
  hide: (text: string) => string,
): Promise<readonly Difference[]> {
  const found: Difference[] = [];
  const shown = (value: unknown): string | undefined => {
    if (value === undefined) return undefined;
    const text = hide(JSON.stringify(value));
    return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  };
  const tell: Tell = (kind, what, one, other) =>
    found.push({ kind, target: hide(target), what: hide(what), here: shown(one), there: shown(other) });
  await compare(tell, target, ours, theirs, here);
  return found;
}
