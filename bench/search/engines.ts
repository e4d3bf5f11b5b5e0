/**
 * The compared engines. Each indexes the same texts in the required order of equal hits, and answers with an exact total,
 * if it can, and the documents of the first page.
 */

import { createRequire } from "node:module";
import { fold } from "../../src/search/fold.ts";
import { placesOf, type Results } from "../../src/search/results.ts";
import { indexUsers, indexWorlds, searchUsers, searchWorlds } from "../../src/search/search.ts";
import { runNow } from "../../src/search/work.ts";

/** The texts to search: names alone, or names and descriptions. */
export interface Corpus {
  readonly names: readonly string[];
  /** Undefined for users. */
  readonly descriptions: readonly string[] | undefined;
}

export interface Found {
  readonly total: number;
  readonly page: readonly number[];
}

export type Find = (query: string) => Found;

/** An engine over one corpus. */
export interface Engine {
  readonly find: Find;
  /** Searches as work that pauses, for the page at an offset; only orrery has such. */
  readonly work?: (query: string, offset: number) => Generator<undefined, unknown>;
  /** Bytes held outside of JavaScript's memory. */
  readonly nativeBytes: number;
}

const PAGE = 20;

/** Terms of a query: for worlds every word, all of which must match; for users the query as one text. */
function termsOf(query: string, { descriptions }: Corpus): string[] {
  return descriptions === undefined ? [query] : [...new Set(query.split(/\s+/u))].slice(0, 10);
}

/** Bytes of all shared memory used by a value's arrays; JavaScript does not count them as its own. */
function sharedBytes(value: unknown): number {
  const buffers = new Set<ArrayBufferLike>();
  const look = (some: unknown): void => {
    if (ArrayBuffer.isView(some)) buffers.add(some.buffer);
    else if (typeof some === "object" && some !== null) Object.values(some).forEach(look);
  };
  look(value);
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function ours(corpus: Corpus): Engine {
  const { names, descriptions } = corpus;
  if (descriptions === undefined) {
    const users = indexUsers(names.length, (row) => names[row]!);
    const work = (query: string, offset: number) => searchUsers(users, query, { limit: PAGE, offset });
    return { find: (query) => firstPage(runNow(work(query, 0))), work, nativeBytes: sharedBytes(users) };
  }
  const rows = Uint32Array.from(names.keys());
  const ranking = { rows, places: placesOf(rows, new Uint32Array(rows.length)) };
  const worlds = indexWorlds(
    rows.length,
    (row) => names[row]!,
    (row) => descriptions[row]!,
  );
  const work = (query: string, offset: number) =>
    searchWorlds(worlds, ranking, query, { limit: PAGE, offset });
  return { find: (query) => firstPage(runNow(work(query, 0))), work, nativeBytes: sharedBytes(worlds) };
}

function firstPage({ total, rows }: Results): Found {
  return { total, page: [...rows] };
}

/** Scans every text: so simple that its results count as right. */
function scan(corpus: Corpus): Find {
  const names = corpus.names.map(fold);
  const descriptions = corpus.descriptions?.map(fold);
  return (query) => {
    const terms = termsOf(query, corpus);
    const classes: number[][] = [[], [], [], []];
    for (let at = 0; at < names.length; at++) {
      const name = names[at]!;
      const description = descriptions?.[at];
      if (!terms.every((term) => name.includes(term) || description?.includes(term))) continue;
      const inName = terms.every((term) => name.includes(term));
      classes[name === query ? 0 : name.startsWith(query) ? 1 : inName ? 2 : 3]!.push(at);
    }
    const all = classes.flat();
    return { total: all.length, page: all.slice(0, PAGE) };
  };
}

/** FlexSearch as in the first example of its README: `new Index()`, `add`, `search`. */
function flexsearch({ names, descriptions }: Corpus): Find {
  const { Index } = createRequire(import.meta.url)("flexsearch") as typeof import("flexsearch");
  const index = new Index();
  for (let at = 0; at < names.length; at++) {
    index.add(at, descriptions ? `${names[at]!} ${descriptions[at]!}` : names[at]!);
  }
  return (query) => {
    const found = index.search(query) as number[];
    return { total: found.length, page: found.slice(0, PAGE) };
  };
}

interface Statement {
  all(...parameters: unknown[]): Record<string, number>[];
  get(...parameters: unknown[]): Record<string, number>;
  run(...parameters: unknown[]): unknown;
}

/** The part of better-sqlite3 that is used here. */
interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
}

/** Opens better-sqlite3 from the bench's own package; undefined if that is not installed. */
export function openSqlite(): Database | undefined {
  try {
    const Sqlite = createRequire(new URL("../package.json", import.meta.url))("better-sqlite3") as new (
      file: string,
    ) => Database;
    return new Sqlite(":memory:");
  } catch {
    return undefined;
  }
}

/** Bytes by SQLite's own count of pages; none of them are in JavaScript's memory. */
function bytesOf(database: Database): number {
  const count = database.prepare("PRAGMA page_count").get().page_count!;
  return count * database.prepare("PRAGMA page_size").get().page_size!;
}

/** A database of folded texts with an FTS5 trigram index; row ids are document numbers plus one. */
function sqliteOver({ names, descriptions }: Corpus): Database {
  const database = openSqlite()!;
  database.exec(`
    CREATE TABLE texts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL);
    CREATE VIRTUAL TABLE grams USING fts5(name, description, content='texts', content_rowid='id', tokenize='trigram case_sensitive 1');
    BEGIN;
  `);
  const insert = database.prepare("INSERT INTO texts VALUES (?, ?, ?)");
  for (let at = 0; at < names.length; at++) {
    insert.run(at + 1, fold(names[at]!), descriptions ? fold(descriptions[at]!) : "");
  }
  database.exec("COMMIT; INSERT INTO grams(grams) VALUES ('rebuild');");
  return database;
}

/** The condition for terms, with FTS5 if possible: it has no index for terms under three characters. */
function conditionOf(terms: readonly string[]): { from: string; where: string; parameters: string[] } {
  const long = terms.filter((term) => [...term].length >= 3);
  const short = terms.filter((term) => [...term].length < 3);
  const where = short.map(() => "(instr(texts.name, ?) > 0 OR instr(texts.description, ?) > 0)");
  const parameters = short.flatMap((term) => [term, term]);
  if (long.length === 0) return { from: "texts", where: where.join(" AND "), parameters };
  const match = long.map((term) => `"${term.replaceAll('"', '""')}"`).join(" AND ");
  return {
    from: "grams JOIN texts ON texts.id = grams.rowid",
    where: ["grams MATCH ?", ...where].join(" AND "),
    parameters: [match, ...parameters],
  };
}

/** Does the same work as our engine: exact total, first page by rank class and order. */
function sqlite(corpus: Corpus): Engine {
  const database = sqliteOver(corpus);
  const statements = new Map<string, Statement>();
  const prepare = (sql: string): Statement => {
    const known = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, known);
    return known;
  };
  const find: Find = (query) => {
    const terms = termsOf(query, corpus);
    const { from, where, parameters } = conditionOf(terms);
    const total = prepare(`SELECT count(*) AS total FROM ${from} WHERE ${where}`).get(...parameters).total!;
    const inName = terms.map(() => "instr(texts.name, ?) > 0").join(" AND ");
    const order = `CASE WHEN texts.name = ? THEN 0 WHEN substr(texts.name, 1, length(?)) = ? THEN 1 WHEN ${inName} THEN 2 ELSE 3 END`;
    const page = prepare(
      `SELECT texts.id AS id FROM ${from} WHERE ${where} ORDER BY ${order}, texts.id LIMIT ${PAGE}`,
    ).all(...parameters, query, query, query, ...terms);
    return { total, page: page.map(({ id }) => id! - 1) };
  };
  return { find, nativeBytes: bytesOf(database) };
}

/** The cheapest use of FTS5: an unordered page, and the count. Short terms find nothing. */
function sqliteCheapest(corpus: Corpus): Engine {
  const database = sqliteOver(corpus);
  const count = database.prepare("SELECT count(*) AS total FROM grams WHERE grams MATCH ?");
  const page = database.prepare(`SELECT rowid AS id FROM grams WHERE grams MATCH ? LIMIT ${PAGE}`);
  const find: Find = (query) => {
    const match = termsOf(query, corpus)
      .map((term) => `"${term.replaceAll('"', '""')}"`)
      .join(" AND ");
    return { total: count.get(match).total!, page: page.all(match).map(({ id }) => id! - 1) };
  };
  return { find, nativeBytes: bytesOf(database) };
}

/** All engines by name; the scan comes first, as its totals are the reference. */
export const ENGINES: Readonly<Record<string, (corpus: Corpus) => Engine>> = {
  scan: (corpus) => ({ find: scan(corpus), nativeBytes: 0 }),
  orrery: ours,
  "SQLite FTS5": sqlite,
  "SQLite FTS5, unordered": sqliteCheapest,
  "FlexSearch as in its README": (corpus) => ({ find: flexsearch(corpus), nativeBytes: 0 }),
};
