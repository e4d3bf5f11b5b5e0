/** Compares two answers to one request. "Here" is the snapshot, "there" the other server. */

import type { DirectDoor } from "../http/direct.ts";
import { BASE_PATH } from "../model/model.ts";
import { isObject } from "../util/json.ts";
import type { Probe } from "./plan.ts";

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

export interface Difference {
  /** "note" is for a header that the API's specification omits: another server may lack it. */
  readonly kind: DifferenceKind | "note";
  readonly target: string;
  /** The differing field, header or id. */
  readonly what: string;
  /** As JSON, truncated when long; undefined without a value. */
  readonly here: string | undefined;
  readonly there: string | undefined;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Maximum characters of a value in a difference. */
const LONGEST_SHOWN = 120;
const PAGE = 50;

function pageOf(target: string, limit: number, offset: number): string {
  const [path = "", words] = target.split("?");
  const query = new URLSearchParams(words);
  query.set("limit", String(limit));
  query.set("offset", String(offset));
  return `${path}?${query}`;
}

interface WholeList {
  readonly ids: readonly string[];
  readonly places: ReadonlyMap<string, number>;
}

/** Answers from the snapshot, and its whole lists. */
export class Here {
  readonly #ask: DirectDoor;
  readonly #token: string;
  readonly #lists = new Map<string, Promise<WholeList>>();

  /** @param token that `ask` accepts */
  constructor(ask: DirectDoor, token: string) {
    this.#ask = ask;
    this.#token = token;
  }

  async answer({ target, authorization = `Bearer ${this.#token}` }: Probe): Promise<ApiAnswer> {
    const ask = { target: BASE_PATH + target, authorization: authorization ?? undefined };
    const { status, headers, body } = await this.#ask(ask);
    return { status, headers: new Headers(headers), body: body === "" ? undefined : JSON.parse(body) };
  }

  /** The whole list that contains the page of a target. */
  listOf(target: string): Promise<WholeList> {
    const key = pageOf(target, PAGE, 0);
    const known = this.#lists.get(key) ?? this.#wholeList(key);
    this.#lists.set(key, known);
    return known;
  }

  /** Rows of such a list from a place on. */
  async rowsAt(target: string, place: number, most: number): Promise<readonly { readonly id: string }[]> {
    const { body } = await this.answer({ target: pageOf(target, most, place) });
    return (body as { data: { id: string }[] }).data;
  }

  async #wholeList(target: string): Promise<WholeList> {
    const ids: string[] = [];
    for (;;) {
      const rows = await this.rowsAt(target, ids.length, PAGE);
      ids.push(...rows.map(({ id }) => id));
      if (rows.length < PAGE) return { ids, places: new Map(ids.map((id, place) => [id, place])) };
    }
  }
}

type Tell = (kind: Difference["kind"], what: string, here?: unknown, there?: unknown) => void;

function compareFields(tell: Tell, what: string, here: unknown, there: unknown, separator = " "): void {
  if (isObject(here) && isObject(there)) {
    for (const name of new Set([...Object.keys(here), ...Object.keys(there)]))
      compareFields(tell, what + separator + name, here[name], there[name], ".");
  } else if (JSON.stringify(here) !== JSON.stringify(there)) {
    tell("field", what, here, there);
  }
}

/** Headers that the specification omits and whose values should be the same on every server. */
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
  // The value names the other server's generation: compare its presence alone.
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

/** Compares the rows of a page with the whole list here: finds unknown, omitted, reordered and different rows. */
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
    compareFields(tell, id, known.get(id) ?? (await here.rowsAt(target, place, 1))[0], row);
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

/** Compares two answers. @param hide removes the other server's token, which that server may repeat, even in mirrored names */
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
