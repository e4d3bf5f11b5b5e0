/** `orrery keys list`, `show` and `find`: keys of a file, and the counts of their requests from an admin listener (`GET /keys`). */

import { misspeltFieldWarnings, unknownFieldsOf } from "../auth/key-changes.ts";
import { hashToken, type KeyRecord } from "../auth/keys.ts";
import { readRecord, readRecords } from "../auth/keys-file.ts";
import { readToken, tokenIn } from "../files/token-file.ts";
import { SCOPES } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { isCount, isObject, parsedJson } from "../util/json.ts";
import { systemErrorText } from "../util/system-error.ts";
import type { CommandIo } from "./command.ts";
import { CommandError, type Options, UsageError } from "./options.ts";
import { formatColumns, jsonText } from "./terminal.ts";

const PAGE_TIMEOUT_MS = 15_000;
/** Most bytes of a page; a server's page has a twentieth of that. */
const MOST_BYTES = 16_777_216;

/** A key's requests since the start of the server. */
interface KeyUsage {
  readonly passed: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly lastUsedAt: string | null;
}

async function readAsked(address: string, { values, names }: Options<"keys list">) {
  const url = /^https?:\/\//i.test(address) && URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "" || url.search !== "") {
    throw new UsageError(
      "--usage: must be the http: or https: URL of an admin listener, without a user and a query",
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  const { adminTokenFile: file } = values;
  return { url, token: file === undefined ? undefined : await readToken(file, names.adminTokenFile) };
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new CommandError("the reply is too large for an admin listener's");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function whyNoAnswer(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  if (error instanceof Error && error.name === "TimeoutError")
    return `no answer within ${PAGE_TIMEOUT_MS / 1000} s`;
  const cause = error instanceof Error ? error.cause : undefined;
  return systemErrorText(cause) ?? "it cannot be reached, or ended the connection without an answer";
}

const STATUSES: Readonly<Record<number, string>> = {
  401: "the token is missing or wrong; use the server's file with --admin-token-file",
  404: "it has no /keys: is it the admin listener of a server of this version?",
  503: "the server has not loaded its first snapshot, or is too busy to say; try again",
};

/** Asks for one page. @returns undefined when no key has the requested id */
async function askPage(
  { url, token }: Awaited<ReturnType<typeof readAsked>>,
  query: string,
): Promise<Record<string, unknown> | undefined> {
  const fail = (why: string): never => {
    throw new CommandError(`--usage: ${url.origin}${url.pathname}: ${why}`);
  };
  const ask = async (): Promise<{ status: number; text: string }> => {
    const response = await fetch(new URL(`keys?${query}`, url), {
      // A redirect must not get the token.
      redirect: "manual",
      signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    return { status: response.status, text: await textOf(response) };
  };
  const { status, text } = await ask().catch((error: unknown) => fail(whyNoAnswer(error)));
  if (status === 404 && query.startsWith("id=") && text.includes("No key has this id")) return undefined;
  if (status !== 200) return fail(STATUSES[status] ?? `it answered ${status}`);
  const page = parsedJson(text);
  if (!isObject(page) || !Array.isArray(page.keys))
    return fail("it is no admin listener: the reply is no list of keys");
  return page;
}

/** Adds the usage in a page's entry, if it is of a wanted key. */
function addUsage(found: Map<string, KeyUsage>, entry: unknown, wanted: ReadonlySet<unknown>): void {
  if (!isObject(entry) || !wanted.has(entry.id)) return;
  const { id, passed, refused, lastUsedAt } = entry;
  if (!isCount(passed) || !isObject(refused)) return;
  const counts = Object.entries(refused).filter((pair): pair is [string, number] => isCount(pair[1]));
  found.set(id as string, {
    passed,
    refused: Object.fromEntries(counts),
    lastUsedAt: typeof lastUsedAt === "string" ? lastUsedAt : null,
  });
}

/**
 * Asks for the usage of keys, if `--usage` is given. One key is requested by its id; for several, all pages are read.
 *
 * @returns usage by id, without keys that the server does not know; undefined without `--usage`
 * @throws {UsageError} when the URL is none, {@link CommandError} when it gives no usage, or the error of {@link readToken}
 */
async function askUsage(
  options: Options<"keys list">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KeyUsage> | undefined> {
  const { usage } = options.values;
  if (usage === undefined) return undefined;
  const asked = await readAsked(usage, options);
  const wanted = new Set(ids);
  const found = new Map<string, KeyUsage>();
  let query = ids.length === 1 ? `id=${encodeURIComponent(ids[0]!)}` : "after=0";
  for (let after = 0; ; ) {
    const page = await askPage(asked, query);
    for (const entry of (page?.keys ?? []) as readonly unknown[]) addUsage(found, entry, wanted);
    const next = page?.next;
    // Pages only go forward, even if a server says otherwise: the loop must end.
    if (!isCount(next) || next <= after) return found;
    after = next;
    query = `after=${next}`;
  }
}

/** A key as its output shows it. @param usages by id; absent without `--usage` */
function keyShown(record: KeyRecord, now: number, usages: Awaited<ReturnType<typeof askUsage>>) {
  const { id, kind, name, owner = null, note = null, hint = null } = record;
  const { active, expiresAt, createdAt, previous = [] } = record;
  const isOver = (end: string): boolean => parseTime(end) <= now;
  const usable = expiresAt !== null && isOver(expiresAt) ? "expired" : "active";
  const isKnown = (scope: string): boolean => SCOPES.some((known) => known === scope);
  // A CLI token has neither limit nor scopes, whatever its record says.
  const given = kind === "cli" ? SCOPES : record.scopes;
  const scopes = given.filter(isKnown);
  return {
    id,
    kind,
    name,
    owner,
    note,
    hint,
    state: active ? usable : "disabled",
    limit: kind === "cli" ? null : record.limit,
    expiresAt,
    // The scopes that grant something.
    scopes,
    unknownScopes: given.filter((scope) => !isKnown(scope)),
    grantsNothing: scopes.length === 0,
    createdAt,
    // Tokens that still work. Their hashes are never shown.
    previous: previous
      .filter((token) => !isOver(token.expiresAt))
      .map(({ expiresAt, hint = null }) => ({ expiresAt, hint })),
    unknownFields: Object.fromEntries(unknownFieldsOf(record)),
    // A server may not know a key yet.
    ...(usages ? { usage: usages.get(id) ?? null } : {}),
  };
}

type KeyShown = ReturnType<typeof keyShown>;

function scopesText({ kind, scopes, unknownScopes }: KeyShown): string {
  if (kind === "cli") return "all";
  const known = scopes.length > 0 ? scopes.join(",") : "none, grants nothing";
  return unknownScopes.length > 0 ? `${known} (unknown: ${unknownScopes.join(",")})` : known;
}

function limitText({ kind, limit }: KeyShown): string {
  return kind === "cli" ? "none" : String(limit ?? "default");
}

const USAGE_TITLES = ["passed", "refused", "last used"];

/** The cells below {@link USAGE_TITLES}; none without `--usage`. */
function usageCells({ usage }: KeyShown): string[] {
  if (usage === undefined) return [];
  if (usage === null) return USAGE_TITLES.map(() => "unknown");
  const reasons = Object.entries(usage.refused).filter(([, times]) => times > 0);
  const refused = reasons.map(([reason, times]) => `${times} ${reason}`).join(", ");
  return [String(usage.passed), refused || "0", usage.lastUsedAt ?? "not since the start"];
}

function listText(keys: readonly KeyShown[], hasUsage: boolean): string {
  const rows = keys.map((key) => {
    const { id, kind, state, expiresAt, name } = key;
    const usage = usageCells(key);
    return [id, kind, state, limitText(key), expiresAt ?? "never", ...usage, scopesText(key), name];
  });
  const usage = hasUsage ? USAGE_TITLES : [];
  return formatColumns([["id", "kind", "state", "limit", "expires", ...usage, "scopes", "name"], ...rows]);
}

function showText(key: KeyShown): string {
  const { id, kind, name, owner, note, hint, state, createdAt, expiresAt, previous, unknownFields } = key;
  const optional = (title: string, text: string | null) => (text === null ? [] : [[title, text]]);
  return formatColumns([
    ["id", id],
    ["kind", kind],
    ["name", name],
    ...optional("owner", owner),
    ...optional("note", note),
    ...optional("token", hint && `…${hint}`),
    ["state", state],
    ["limit", limitText(key)],
    ["scopes", scopesText(key)],
    ["created", createdAt],
    ["expires", expiresAt ?? "never"],
    ...previous.map(({ hint, expiresAt }) => {
      return ["previous token", `${hint === null ? "" : `…${hint} `}works until ${expiresAt}`];
    }),
    ...Object.entries(unknownFields).map(([name, value]) => [`field ${name}`, JSON.stringify(value)]),
    ...usageCells(key).map((cell, at) => [USAGE_TITLES[at]!, cell]),
  ]);
}

/** The record with a token; `replaced` is its entry if it is an earlier one. */
function recordOfToken(records: readonly KeyRecord[], token: string) {
  const hash = hashToken(token);
  for (const record of records) {
    if (record.sha256.toLowerCase() === hash) return { record };
    const replaced = record.previous?.find(({ sha256 }) => sha256.toLowerCase() === hash);
    if (replaced !== undefined) return { record, replaced };
  }
  return undefined;
}

export async function listKeys(options: Options<"keys list">, io: CommandIo): Promise<void> {
  const { values } = options;
  const records = await readRecords(values.keys);
  const ids = records.map(({ id }) => id);
  const usages = await askUsage(options, ids);
  for (const warning of misspeltFieldWarnings(records)) {
    io.complain(`orrery: warning: ${values.keys}: ${warning}\n`);
  }
  const keys = records.map((record) => keyShown(record, Date.now(), usages));
  io.print(values.json ? jsonText({ keys }) : listText(keys, usages !== undefined));
}

async function show(
  record: KeyRecord,
  options: Options<"keys show" | "keys find">,
  io: CommandIo,
): Promise<void> {
  const usages = await askUsage(options, [record.id]);
  const key = keyShown(record, Date.now(), usages);
  io.print(options.values.json ? jsonText(key) : showText(key));
}

export async function showKey(options: Options<"keys show">, io: CommandIo): Promise<void> {
  await show(await readRecord(options.values.keys, options.positionals[0]!), options, io);
}

export async function findByToken(options: Options<"keys find">, io: CommandIo): Promise<void> {
  const { keys } = options.values;
  const records = await readRecords(keys);
  const token = tokenIn(await io.readInput());
  if (token === "") throw new CommandError("there is no token on standard input");
  const found = recordOfToken(records, token);
  if (found === undefined) throw new CommandError(`${keys}: no key has this token`);
  const { record, replaced } = found;
  if (replaced !== undefined) {
    const over = parseTime(replaced.expiresAt) <= Date.now();
    io.complain(
      `orrery: this is an earlier token of ${record.id}, which ${over ? "ended" : "ends"} at ${replaced.expiresAt}\n`,
    );
  }
  await show(record, options, io);
}
