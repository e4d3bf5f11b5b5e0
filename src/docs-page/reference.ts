/**
 * The pages beside the API, and their setting: the reference of its operations, and the OpenAPI document that it shows.
 * They are served as files (RFC 9110: HEAD, conditional requests, gzip); a range request gets the whole file. The first
 * request for any of them reads all; they stay in memory, gzipped. Replies share their bytes: a slow reader costs no copy.
 * The document is made anew for each snapshot, whose rows are its examples.
 */

import { promisify } from "node:util";
import { constants, gunzipSync, gzip } from "node:zlib";
import { judgeConditions } from "../api/conditions.ts";
import { createFixedHeaders, FAULT_BODIES, type FixedHeaders } from "../api/headers.ts";
import { LIMIT, type PageFile, type PagesSource, pageHash } from "../api/pages/file.ts";
import { type PageServer, readPages, takesGzip } from "../api/pages/serve.ts";
import { type Body, sliceAll } from "../model/body.ts";
import { FAULTS } from "../model/fault.ts";
import type { Ask, Reply } from "../model/message.ts";
import type { Setting, Settings } from "../settings/settings.ts";
import type { Store } from "../store/generation.ts";
import { isHttpUrl, problemWithPublicUrl, serversOf } from "./public-url.ts";
import { fillExamples, findExamples, type ServedExamples } from "./served-examples.ts";

const MAIL = /^[^\s@<>",;:]+@[^\s@<>",;:]+\.[^\s@<>",;:]+$/;

/** The fields of a contact in the OpenAPI document; undefined if the text is neither a URL nor a mail address. */
function contactOf(text: string): { readonly url: string } | { readonly email: string } | undefined {
  if (MAIL.test(text)) return { email: text };
  return isHttpUrl(text) ? { url: text } : undefined;
}

const OPTION = { isOption: true, after: "cors", kind: "text" } as const;

/** @internal The settings of the pages. */
export const DOCS_PAGE_SETTINGS = [
  {
    ...OPTION,
    flag: "docs",
    kind: "flag",
    default: "on",
    meaning: "Serve an API reference at `/docs` and the OpenAPI document at `/openapi.json`.",
  },
  {
    ...OPTION,
    flag: "docs-name",
    value: "TEXT",
    default: "Public read-only API",
    meaning: "Name of the API in its reference and in the OpenAPI document.",
  },
  {
    ...OPTION,
    flag: "docs-contact",
    value: "URL|MAIL",
    problem: (text) =>
      contactOf(text) === undefined ? "must be an http or https URL, or a mail address" : undefined,
    meaning:
      "Where readers of the reference ask for a key: an `http` or `https` URL, or a mail address. Default: none.",
  },
  {
    ...OPTION,
    flag: "docs-url",
    value: "URL",
    problem: problemWithPublicUrl,
    meaning:
      "Public origin of the API, with the prefix of a proxy where there is one (`https://api.example.org`): the OpenAPI " +
      "document names it as its server, which generated clients need. Default: relative to the document.",
  },
  {
    flag: "server",
    kind: "text",
    value: "URL",
    problem: problemWithPublicUrl,
    meaning: "Public origin of the API, as `--docs-url` of `serve`. Default: relative to the document.",
    commands: ["openapi"],
  },
] as const satisfies readonly Setting[];

/** Options of the library for the API reference. */
export interface DocsPageOptions {
  /** Whether an API reference is served at `/docs`, and the OpenAPI document at `/openapi.json`; true when absent. */
  readonly docs?: boolean;
  /** Name of the API there; "Public read-only API" when absent. */
  readonly docsName?: string;
  /** Where readers ask for a key: an `http` or `https` URL, or a mail address. */
  readonly docsContact?: string;
  /** Public origin of the API, with the prefix of a proxy where there is one; the document's server is relative when absent. */
  readonly docsUrl?: string;
}

const PAGE = "/docs";
const DOCUMENT = "/openapi.json";

/** Set by the build, whose program contains the document and not its generator. */
declare const IS_BUILT: boolean | undefined;

async function makeDocument(): Promise<unknown> {
  return typeof IS_BUILT === "undefined" ? (await import("./openapi.ts")).createOpenApi(LIMIT) : undefined;
}

/** @internal */
export const REFERENCE: PagesSource = {
  name: "reference",
  folder: "docs-page/page/",
  path: PAGE,
  under: "docs/",
  copied: {
    "swagger-ui.js": "swagger-ui-dist/swagger-ui-bundle.js",
    "swagger-ui.css": "swagger-ui-dist/swagger-ui.css",
  },
  documents: { [DOCUMENT]: makeDocument },
};

/** Pages run only scripts of this server, use its styles, connect to it alone, and cannot be framed. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SAFETY = `Content-Security-Policy: ${POLICY}\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n`;

const FOREVER = "Cache-Control: public, max-age=31536000, immutable\r\n";
const SHORTLY = "Cache-Control: public, max-age=300\r\n";

const JSON_LINES = "Content-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n";
const CROSS_ORIGIN = "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ETag\r\n";

interface File {
  readonly hash: string;
  /** Header lines of a 200. */
  readonly own: string;
  /** Header lines of a 200 and a 304. */
  readonly common: string;
  readonly gzip: Buffer;
  /** Unencoded, for the few clients without gzip: unpacked on first use, in some milliseconds. */
  plain?: Buffer;
}

const gzipped = promisify(gzip);

type PagesSettings = Pick<Settings, "docs" | "docsName" | "docsContact" | "docsUrl" | "cors">;

function htmlText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Inserts into the document what is the operator's, name, contact and public URL, and the examples. */
function fillDocument(
  text: string,
  { docsName, docsContact, docsUrl }: PagesSettings,
  examples: ServedExamples,
): string {
  const document = JSON.parse(text) as { info: Record<string, unknown> } & Parameters<typeof fillExamples>[0];
  const contact = { ...(document.info.contact as object), ...(docsContact && contactOf(docsContact)) };
  fillExamples(document, examples);
  const info = { ...document.info, title: docsName, contact };
  return JSON.stringify({ ...document, info, servers: serversOf(docsUrl) });
}

/** Inserts what is the operator's into the page: name and contact. */
function fillPage(text: string, { docsName, docsContact }: PagesSettings): string {
  const address = docsContact && contactOf(docsContact);
  const href = address && ("url" in address ? address.url : `mailto:${address.email}`);
  const words = "operator of this server";
  const operator = href ? `<a href="${htmlText(href)}">${words}</a>` : words;
  return text.replaceAll("{{name}}", () => htmlText(docsName)).replaceAll("{{operator}}", () => operator);
}

/** Inserts the server's own parts into a file; hashed files have none. @param limit of a key, in words @param examples for the document */
async function prepare(
  stored: PageFile,
  limit: string,
  settings: PagesSettings,
  examples?: ServedExamples,
): Promise<File> {
  const { path, type, hash, isHashed } = stored;
  const { cors } = settings;
  const isHtml = type.startsWith("text/html");
  const crossOrigin = cors && path === DOCUMENT ? CROSS_ORIGIN : "";
  const own = `Content-Type: ${type}\r\nX-Content-Type-Options: nosniff\r\n${isHtml ? SAFETY : ""}`;
  const common = `${isHashed ? FOREVER : SHORTLY}Vary: Accept-Encoding\r\n${crossOrigin}`;
  const bytes = Buffer.from(stored.gzip, "base64");
  const whole = isHashed ? "" : String(gunzipSync(bytes));
  if (!whole.includes(LIMIT)) return { hash, own, common, gzip: bytes };
  const limited = whole.replaceAll(LIMIT, limit);
  const filled = examples ? fillDocument(limited, settings, examples) : fillPage(limited, settings);
  const level = constants.Z_BEST_COMPRESSION;
  return { hash: pageHash(filled), own, common, gzip: await gzipped(filled, { level }) };
}

function reply(status: number, headers: string, body: Reply["body"] = ""): Reply {
  return { status, headers, body, route: "", keyId: "" };
}

const PRECONDITION_FAILED = '{"error":"Precondition failed"}';

function send(file: File, { method, ifMatch, ifNoneMatch, headers }: Ask): Reply {
  const isGzipped = takesGzip(headers);
  // A strong ETag identifies the bytes that are sent. A compressing proxy's mark would count as the tag without it.
  const etag = `"${file.hash}${isGzipped ? "-gz" : ""}"`;
  const isHead = method === "HEAD";
  const status = judgeConditions(ifMatch, ifNoneMatch, etag);
  if (status === 412) {
    const lines = `${JSON_LINES}Content-Length: ${PRECONDITION_FAILED.length}\r\n`;
    return reply(status, lines, isHead ? "" : PRECONDITION_FAILED);
  }
  const common = `ETag: ${etag}\r\n${file.common}`;
  if (status === 304) return reply(status, common);
  if (!isGzipped) file.plain ??= gunzipSync(file.gzip);
  const bytes = isGzipped ? file.gzip : file.plain!;
  const { length } = bytes;
  const encoding = isGzipped ? "Content-Encoding: gzip\r\n" : "";
  const body: Body = { length, head: "", slices: sliceAll(bytes), end: "", isShared: true };
  return reply(status, `${file.own}${encoding}${common}Content-Length: ${length}\r\n`, isHead ? "" : body);
}

/** The redirect of `/`, relative so that the prefix of a proxy stays; it has no body and no ETag. */
const REDIRECT = reply(302, `Location: ${PAGE.slice(1)}\r\n${SHORTLY}Content-Length: 0\r\n`);

/** Answers a request for a page, or for `/` if there is no file. Methods are those of the API. */
function answerWith(file: File | undefined, ask: Ask, { options, faults }: FixedHeaders): Reply {
  if (ask.method === "GET" || ask.method === "HEAD") return file === undefined ? REDIRECT : send(file, ask);
  if (ask.method === "OPTIONS") return reply(204, options);
  const fault = "methodNotAllowed";
  return { ...reply(FAULTS[fault].status, faults[fault], FAULT_BODIES[fault]), fault };
}

function mayHold(path: string): boolean {
  return path === "/" || path === PAGE || path === DOCUMENT || path.startsWith(`${PAGE}/`);
}

interface MadeDocument {
  /** Id of the store whose examples it has. The store is not held, so that its memory is free after a reload. */
  readonly storeId: string;
  readonly file: Promise<File>;
  /** The same, once it is made. */
  made?: File;
}

/** @internal Creates the server of the pages; undefined when they are off. @param limit of an API key, in words */
export function openPages(settings: PagesSettings, limit: string): PageServer | undefined {
  const { docs, cors } = settings;
  if (!docs) return undefined;
  const fixed = createFixedHeaders(cors);
  let read: Promise<PageFile> | undefined;
  /** All but the document, by path. */
  let files: ReadonlyMap<string, File> | undefined;
  let document: MadeDocument | undefined;

  /** @returns the document, without examples */
  async function readAll(): Promise<PageFile> {
    const stored = await readPages(REFERENCE);
    const others = stored.filter(({ path }) => path !== DOCUMENT);
    const prepared = others.map(async (file) => [file.path, await prepare(file, limit, settings)] as const);
    files = new Map(await Promise.all(prepared));
    return stored.find(({ path }) => path === DOCUMENT)!;
  }

  /** The document with the examples of a snapshot. */
  async function documentFor(stored: PageFile, store: Store): Promise<File> {
    if (document?.storeId !== store.id)
      document = { storeId: store.id, file: prepare(stored, limit, settings, findExamples(store)) };
    const newest = document;
    newest.made = await newest.file;
    return newest.made;
  }

  async function answerLater(ask: Ask, path: string, store: Store): Promise<Reply | undefined> {
    try {
      read ??= readAll();
      const stored = await read;
      const file = path === DOCUMENT ? await documentFor(stored, store) : files?.get(path);
      return file && answerWith(file, ask, fixed);
    } catch (error) {
      // A later attempt may succeed.
      read = undefined;
      document = undefined;
      throw error;
    }
  }

  return {
    home: PAGE,
    mayHold,
    answer(ask, path, store) {
      if (path === "/") return answerWith(undefined, ask, fixed);
      if (!mayHold(path)) return undefined;
      const made = document?.storeId === store.id ? document.made : undefined;
      if (files === undefined || (path === DOCUMENT && made === undefined))
        return answerLater(ask, path, store);
      const file = path === DOCUMENT ? made : files.get(path);
      return file && answerWith(file, ask, fixed);
    },
  };
}
