/** Changes of one place that the tests must notice. `npm run mutants` applies each and runs the tests that it names. */

export interface Mutant {
  /** The fault that the change causes. */
  readonly breaks: string;
  /** From the root of the tree. */
  readonly file: string;
  /** The name of the function, method or constant that is changed. */
  readonly within: string;
  /** Text that occurs exactly once in it. */
  readonly text: string;
  readonly becomes: string;
  /** For each test file, words that select tests by name. Each of the tests must fail. */
  readonly tests: Readonly<Record<string, string>>;
}

/** The text of a function, a method or a constant, by its name. The file must be formatted. @throws unless there is exactly one */
function declarationOf(source: string, name: string): string {
  const lines = source.split("\n");
  const begin = new RegExp(
    `^ {0,2}(?:(?:export|async|static|readonly|get|function\\*?|const) |\\*)*${name}(?:[(<]| =|: .* = )`,
  );
  const isCall = /^ {2}\w+\(.*;$/;
  const found = lines.flatMap((line, at) => (begin.test(line) && !isCall.test(line) ? [at] : []));
  const [from] = found;
  if (from === undefined || found.length > 1) throw new Error(`${found.length} declarations of ${name}`);
  const indent = /^ */.exec(lines[from]!)![0];
  // A line that begins with a bracket at the same depth, unless it is the end of the parameters.
  const end = new RegExp(`^${indent}[}\\])](?:.*[^{])?$`);
  const isWhole = /[;}]$/.test(lines[from]!);
  const to = isWhole ? from : lines.findIndex((line, at) => at > from && end.test(line));
  return lines.slice(from, to + 1).join("\n");
}

/** Applies a change to a file's text. @throws unless the text to replace occurs exactly once in the declaration */
export function mutate(source: string, { breaks, within, text, becomes }: Mutant): string {
  const declaration = declarationOf(source, within);
  const parts = declaration.split(text);
  if (parts.length !== 2) throw new Error(`${breaks}: ${within} holds ${parts.length - 1} times: ${text}`);
  if (source.split(declaration).length !== 2) throw new Error(`${breaks}: ${within} stands twice`);
  return source.replace(declaration, () => parts.join(becomes));
}

export const MUTANTS: readonly Mutant[] = [
  {
    breaks: "requests that share a question are all counted as the first",
    file: "src/shared-limits/counts.ts",
    within: "#settle",
    text: "const used = before + at;",
    becomes: "const used = before;",
    tests: { "shared-limits": "are those of one counter, request by request" },
  },
  {
    breaks: "requests that count alone are not limited by the share",
    file: "src/shared-limits/counts.ts",
    within: "#countAlone",
    text: "Math.floor(limit / replicas)",
    becomes: "limit",
    tests: { "shared-limits": "counts alone for a second" },
  },
  {
    breaks: "any number is an answer",
    file: "src/shared-limits/counts.ts",
    within: "countOf",
    text: "!isCount(count) || count < least",
    becomes: "!isCount(count)",
    tests: { "shared-limits": "takes nothing but a count" },
  },
  {
    breaks: "counts are stored without a comparison",
    file: "src/auth/limit.ts",
    within: "countInWindow",
    text: "if (Atomics.compareExchange(cells, slot, cell, cellOf(split, window, used + 1)) === cell) {",
    becomes: "if (Atomics.store(cells, slot, cellOf(split, window, used + 1)) !== undefined) {",
    tests: { auth: "let exactly the limit pass in each window" },
  },
  {
    breaks: "an exchange that failed counts as done",
    file: "src/auth/limit.ts",
    within: "countInWindow",
    text: "used + 1)) === cell) {",
    becomes: "used + 1)) !== undefined) {",
    tests: { auth: "let exactly the limit pass in each window" },
  },
  {
    breaks: "a clock that steps back reopens a window",
    file: "src/auth/limit.ts",
    within: "countInWindow",
    text: "if (current > window) {",
    becomes: "if (current !== window) {",
    tests: { property: "the rate limit lets pass and tells what the model does" },
  },
  {
    breaks: "windows are not aligned to the epoch",
    file: "src/auth/limit.ts",
    within: "windowAt",
    text: "Math.floor(now / 1000 / windowSeconds)",
    becomes: "Math.round(now / 1000 / windowSeconds)",
    tests: { property: "the rate limit lets pass and tells what the model does" },
  },
  {
    breaks: "a key begins anew when keys are loaded again",
    file: "src/auth/limit.ts",
    within: "slotOf",
    text: "if (known !== undefined) return known;",
    becomes: "if (known !== undefined) counters.cells[known] = 0n;",
    tests: { library: "replaces given keys at once; counts of their ids go on" },
  },
  {
    breaks: "a key is still valid at the moment of its end",
    file: "src/auth/admit.ts",
    within: "judgeKey",
    text: "if (expiresAt > now) return undefined;",
    becomes: "if (expiresAt >= now) return undefined;",
    tests: { keys: "judges every token as a plain reading of the file does" },
  },
  {
    breaks: "a CLI token's record is found by an API key",
    file: "src/auth/admit.ts",
    within: "findKey",
    text: "if (key !== undefined && key.kind === kind) return key;",
    becomes: "if (key !== undefined) return key;",
    tests: { conformance: "nasty: tokens" },
  },
  {
    breaks: "hashes are compared by their case",
    file: "src/auth/keys.ts",
    within: "addRecord",
    text: "const hash = sha256.toLowerCase();",
    becomes: "const hash = sha256;",
    tests: { library: "replaces given keys at once; counts of their ids go on" },
  },
  {
    breaks: "tokens that nobody has are kept",
    file: "src/auth/keys.ts",
    within: "find",
    text: "if (key !== undefined) this.#used.set(Buffer.from(token).toString(), key);",
    becomes: "this.#used.set(token, key!);",
    tests: { "all/text-kept": "of tokens that are unknown the rest of the head is let go" },
  },
  {
    breaks: "a token that was used is found when its key is disabled",
    file: "src/auth/keys.ts",
    within: "#used",
    text: "readonly #used = new Map<string, Key>();",
    becomes: "readonly #used = ((KeyRing as { all?: Map<string, Key> }).all ??= new Map<string, Key>());",
    tests: { keys: "judges every token as a plain reading of the file does" },
  },
  {
    breaks: "the answer to HEAD has a body",
    file: "src/api/answer.ts",
    within: "bodyFor",
    text: 'return ask.method === "HEAD" ? "" : body;',
    becomes: "return body;",
    tests: { property: "is answered as the model answers it" },
  },
  {
    breaks: "a weak tag matches in If-Match",
    file: "src/api/conditions.ts",
    within: "judgeConditions",
    text: "!names(ifMatch, etag, false)",
    becomes: "!names(ifMatch, etag, true)",
    tests: { property: "has its conditions judged as the model judges them" },
  },
  {
    breaks: "an offset is not clamped",
    file: "src/api/parameters.ts",
    within: "readOffset",
    text: "Math.min(Number(text), Number.MAX_SAFE_INTEGER)",
    becomes: "Number(text)",
    tests: { property: "has its parameters read as the model reads them" },
  },
  {
    breaks: "instances of hidden worlds are served",
    file: "src/snapshot/stage.ts",
    within: "#whyHidden",
    text: "if (this.#needed === undefined || referred >= 0) return undefined;",
    becomes: "if (this.#needed === undefined || referred !== NOWHERE) return undefined;",
    tests: { snapshot: "hidden rows are dropped and counted by reason" },
  },
  {
    breaks: "a manifest's hashes are not compared",
    file: "src/snapshot/manifest.ts",
    within: "compareWithManifest",
    text: '["bytes", "rows", "sha256"] as const',
    becomes: '["bytes", "rows"] as const',
    tests: { "snapshot-manifest": "a changed row of the same length is noticed by the hash alone" },
  },
  {
    breaks: "a snapshot may lose most of its users",
    file: "src/snapshot/refusals.ts",
    within: "refusalsOf",
    text: "allowShrink ? []",
    becomes: "true ? []",
    tests: { snapshot: "a reload is refused if most of a table is gone" },
  },
  {
    breaks: "names that are the query do not come first",
    file: "src/search/search.ts",
    within: "searchWorlds",
    text: "takeResults([equal, first, named, all]",
    becomes: "takeResults([first, named, all]",
    tests: { search: "worlds are found as a scan finds them, in every script" },
  },
  {
    breaks: "half of a surrogate pair stays at the cut of a query",
    file: "src/search/fold.ts",
    within: "readTerm",
    text: 'if (query.length > MAX_QUERY_UNITS) cut = cut.replace(/[\\ud800-\\udbff]$/, "");',
    becomes: "",
    tests: { property: "fold and cut queries as the model does" },
  },
  {
    breaks: "users and worlds share what the cache holds",
    file: "src/search/cache.ts",
    within: "PREFIXES",
    text: 'worlds: "w" }',
    becomes: 'worlds: "u" }',
    tests: { "search-cache": "searches once for 256 results, users and worlds apart" },
  },
  {
    breaks: "an answer names the generation that came while it was searched",
    file: "src/api/answer.ts",
    within: "conclude",
    text: "const status = judgeConditions(ask.ifMatch, ask.ifNoneMatch, etag);",
    becomes:
      "etag = state.generation.etag;\n  const status = judgeConditions(ask.ifMatch, ask.ifNoneMatch, etag);",
    tests: { answer: "a request sees one generation" },
  },
  {
    breaks: "an answer ends its connection although others follow it",
    file: "src/http/connection.ts",
    within: "#writeReady",
    text: "closes = this.#reader.isAtEnd;",
    becomes: "closes = true;",
    tests: { closing: "a stop: half a request after a slow answer is waited for" },
  },
  {
    breaks: "clients are not told to leave when the server stops",
    file: "src/http/connection.ts",
    within: "#mayBeLast",
    text: "return this.#hasEnded || this.#host.isDraining;",
    becomes: "return this.#hasEnded;",
    tests: {
      "all/http-stop": "what is in flight is answered, however long it takes within reason",
      closing: "a stop: all that arrived before it is answered",
    },
  },
  {
    breaks: "a signal to reload is lost while a load is under way",
    file: "src/util/process/coalesced.ts",
    within: "ask",
    text: "if (this.#running === undefined) {",
    becomes: "if (this.#running !== undefined) return this.#running;\n    {",
    tests: { "all/process": "many SIGHUPs during a load are one more load" },
  },
  {
    breaks: "files are read while they still change",
    file: "src/server/load/keeper.ts",
    within: "#check",
    text: "else if (settled && ",
    becomes: "else if (",
    tests: { "all/process": "files that still change are not read" },
  },
  {
    breaks: "files that were replaced while they were read are taken",
    file: "src/snapshot/load.ts",
    within: "loadAsSeen",
    text: "!isSure && ",
    becomes: "false && ",
    tests: { "all/snapshot-faults": "in place, to the same sizes, without a manifest" },
  },
  {
    breaks: "a peer that reads nothing is sent any number of bytes",
    file: "src/http/connection.ts",
    within: "#isFull",
    text: "unsent += reply?.body.length ?? 0;",
    becomes: "{}",
    tests: { closing: "of many large answers few are made while the first is not sent" },
  },
  {
    breaks: "a peer has any number of requests worked at",
    file: "src/http/connection.ts",
    within: "#isFull",
    text: "this.#answers.length >= MAX_ANSWERS || ",
    becomes: "",
    tests: { closing: "of a read full of requests few are made while the first is not answered" },
  },
  {
    breaks: "a write that the system has not taken is overwritten by the next reply",
    file: "src/http/write.ts",
    within: "#writeParts",
    text: "if (canReuse && this.unsent > 0) scratch = Buffer.alloc(0);",
    becomes: "",
    tests: { "all/parts": "peers that read slowly get every byte while others are answered (our own HTTP)" },
  },
  {
    breaks: "a slow older reading of the keys has the last word",
    file: "src/auth/watched-keys.ts",
    within: "keepKeys",
    text: "reload: () => readings.ask(),",
    becomes: "reload: () => readAgain(),",
    tests: { keeper: "are read one reading after the other: a slow older one has not the last word" },
  },
  {
    breaks: "instances of a world that became visible stay hidden",
    file: "src/snapshot/reuse.ts",
    within: "MADE_FROM",
    text: 'worldIds: ["worlds.ndjson"]',
    becomes: "worldIds: []",
    tests: {
      kept: "reads instances and statistics again when other worlds are visible",
      changing: "after any change a reload is as good as a start",
    },
  },
  {
    breaks: "worlds that did not change keep owners that are gone",
    file: "src/snapshot/unchanged-files.ts",
    within: "stageUnchanged",
    text: 'if (reused.has("users.ndjson")) return dangling;',
    becomes: "return dangling;",
    tests: {
      kept: "opens users alone when they changed, and finds the owners of worlds again",
      changing: "after any change a reload is as good as a start",
    },
  },
  {
    breaks: "a search finds worlds in an order that is no longer theirs",
    file: "src/snapshot/reuse.ts",
    within: "MADE_FROM",
    text: '"index.places": ["popular"]',
    becomes: '"index.places": ["worlds"]',
    tests: { changing: "after any change a reload is as good as a start" },
  },
  {
    breaks: "an index is used again for other texts",
    file: "src/search/search.ts",
    within: "indexWorlds",
    text: "areSameTexts(folded.texts, previous.texts)",
    becomes: "folded.texts.units.length === previous.texts.units.length",
    tests: { "search-index": "an index is used again if its texts are the same" },
  },
  {
    breaks: "files that did not change are not counted towards the limit",
    file: "src/snapshot/row-files.ts",
    within: "reuseFile",
    text: "spend(reading.budget, kept.unpackedBytes);",
    becomes: "",
    tests: { kept: "counts the bytes of files that are not read again" },
  },
  {
    breaks: "an old generation is let go while somebody may still ask for it",
    file: "src/server/similar/questions.ts",
    within: "isDone",
    text: "return this.#isRetired && this.#open.size === 0;",
    becomes: "return this.#isRetired;",
    tests: {
      "search-schedule":
        "what was asked is answered after the end of its generation, and what is asked later is given back",
    },
  },
  {
    breaks: "small snapshots are loaded on the serving thread while it serves",
    file: "src/server/open.ts",
    within: "createFirstLoader",
    text: "options.previous === undefined && ",
    becomes: "",
    tests: { "all/first-loader": "is done here when it is small, later ones never" },
  },
  {
    breaks: "a redirect carries the token to another origin",
    file: "src/sources/url/client.ts",
    within: "openClient",
    text: "if (target.origin !== base.origin) delete headers.authorization;",
    becomes: "",
    tests: { source: "carry the token to its own origin alone, also after redirects" },
  },
  {
    breaks: "a source that sends nothing is waited for without end",
    file: "src/sources/url/client.ts",
    within: "openClient",
    text: "setTimeout(() => ending.abort(late), progressMs)",
    becomes: "setTimeout(() => ending.abort(late), progressMs * 1e6)",
    tests: {
      source: "about instances.ndjson is refused and reported once; the next look takes what it then says",
    },
  },
  {
    breaks: "a file of another hash is taken",
    file: "src/sources/url/download.ts",
    within: "download",
    text: "if (found !== sha256) fail",
    becomes: "if (found === '') fail",
    tests: {
      source: "about instances.ndjson is refused and reported once; the next look takes what it then says",
    },
  },
  {
    breaks: "a copy whose contents are damaged counts as whole",
    file: "src/sources/url/copies.ts",
    within: "removeDamagedCopy",
    text: 'if (hash.digest("hex") === sha256) continue;',
    becomes: 'if (hash.digest("hex") !== "") continue;',
    tests: { source: "whose copy is damaged is downloaded whole, once the load has found it" },
  },
  {
    breaks: "files that did not change are downloaded again",
    file: "src/sources/url/copies.ts",
    within: "linkSame",
    text: "!== sha256) return false;",
    becomes: "!== sha256 || path !== '') return false;",
    tests: { source: "changes in the files that changed; the others are the same files, times included" },
  },
  {
    breaks: "a prepared file whose arrays are damaged is taken",
    file: "src/snapshot/prepared/load.ts",
    within: "readArrays",
    text: "if (hexOf(checksum) !== crc32) throw",
    becomes: "if (checksum < 0) throw",
    tests: { "prepared-damage": "names what is damaged, and another version" },
  },
  {
    breaks: "a folder of rows and a prepared file is taken",
    file: "src/snapshot/load.ts",
    within: "openFiles",
    text: "if (prepared && !checkPreparedAlone(opened, problems)) return undefined;",
    becomes: "if (prepared) checkPreparedAlone(opened, new Problems());",
    tests: {
      "prepared-damage": "that holds rows, too, is refused in one line, whatever else is wrong with it",
    },
  },
  {
    breaks: "an index that was folded by other Unicode data is searched",
    file: "src/snapshot/prepared/load.ts",
    within: "checkFolding",
    text: "if (foldingOf(letters) === folding) return;",
    becomes: "if (letters.length >= 0) return;",
    tests: {
      "prepared-damage": "is not believed that this runtime folds its text as the one did that built it",
    },
  },
  {
    breaks: "a key with short windows is told of in each of them",
    file: "src/auth/notices.ts",
    within: "rationNotices",
    text: "if (known !== undefined && !isOver(known.noticedAt, now)) return;",
    becomes: "",
    tests: { "all/notices": "is told of once a window, and once a minute at most" },
  },
  {
    breaks: "an X-Request-Id that may be a token is logged",
    file: "src/model/request-ids.ts",
    within: "requestIdOf",
    text: "requestId.includes(prefixes.api) || requestId.includes(prefixes.cli)",
    becomes: "requestId.includes(prefixes.cli)",
    tests: { access: "is not taken when it is long, odd, two, or may be a token" },
  },
  {
    breaks: "a page has one tag in all encodings",
    file: "src/docs-page/reference.ts",
    within: "etag",
    text: '-gz"',
    becomes: '"',
    tests: { pages: "are judged by the tag of what would be sent" },
  },
  {
    breaks: "gzip is sent to who would rather have none",
    file: "src/api/pages/serve.ts",
    within: "takesGzip",
    text: "gzip >= (weights.get",
    becomes: "1 >= (weights.get",
    tests: { pages: "are chosen as the client says" },
  },
];
