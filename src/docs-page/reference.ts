/**
 * The pages beside the API, and their setting: the reference of its operations, and the OpenAPI document that it shows.
 * They are served as files (RFC 9110: HEAD, conditional requests, gzip); a range request gets the whole file. The first
 * request for any of them reads all; they stay in memory, gzipped. Replies share their bytes: a slow reader costs no copy.
 */

import { promisify } from "node:util";
import { constants, gunzipSync, gzip } from "node:zlib";
import { judgeConditions } from "../api/conditions.ts";
import { FAULT_BODIES } from "../api/headers.ts";
import { LIMIT, type PageFile, type PagesSource, pageHash } from "../api/pages/file.ts";
import { type PageServer, readPages, takesGzip } from "../api/pages/serve.ts";
import { type Body, sliceAll } from "../model/body.ts";
import { FAULTS } from "../model/fault.ts";
import type { Ask, Reply } from "../model/message.ts";
import type { Setting, Settings } from "../settings/settings.ts";

/** @internal The setting of the pages. */
export const DOCS_PAGE_SETTINGS = [
  {
    flag: "docs",
    isOption: true,
    after: "cors",
    kind: "flag",
    default: "on",
    meaning: "Serve an API reference at `/docs` and the OpenAPI document at `/openapi.json`.",
  },
] as const satisfies readonly Setting[];

/** Options of the library for the API reference. */
export interface DocsPageOptions {
  /** Whether an API reference is served at `/docs`, and the OpenAPI document at `/openapi.json`; true when absent. */
  readonly docs?: boolean;
}

const PAGE = "/docs";
const DOCUMENT = "/openapi.json";

/** Set by the build, whose program contains the document and not its generator. */
declare const IS_BUILT: boolean | undefined;

async function makeDocument(): Promise<unknown> {
  if (typeof IS_BUILT === "undefined") {
    return (await import("./openapi.ts")).createOpenApi(LIMIT);
  }
  return undefined;
}

/** @internal The sources of the pages. */
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

/** Header lines of errors. */
const JSON_LINES = "Content-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n";
const CROSS_ORIGIN = "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ETag\r\n";

/** A file ready to be sent. */
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

/**
 * Inserts the server's own limit into a file; those with a hash in their name contain none.
 * @param cors whether other origins may read the document
 */
async function prepare(stored: PageFile, limit: string, cors: boolean): Promise<File> {
  const { path, type, hash, isHashed } = stored;
  const isHtml = type.startsWith("text/html");
  const crossOrigin = cors && path === DOCUMENT ? CROSS_ORIGIN : "";
  const own = `Content-Type: ${type}\r\nX-Content-Type-Options: nosniff\r\n${isHtml ? SAFETY : ""}`;
  const common = `${isHashed ? FOREVER : SHORTLY}Vary: Accept-Encoding\r\n${crossOrigin}`;
  const bytes = Buffer.from(stored.gzip, "base64");
  const whole = isHashed ? "" : String(gunzipSync(bytes));
  if (!whole.includes(LIMIT)) return { hash, own, common, gzip: bytes };
  const filled = whole.replaceAll(LIMIT, limit);
  const level = constants.Z_BEST_COMPRESSION;
  return { hash: pageHash(filled), own, common, gzip: await gzipped(filled, { level }) };
}

function reply(status: number, headers: string, body: Reply["body"] = ""): Reply {
  return { status, headers, body, route: "", keyId: "" };
}

const PRECONDITION_FAILED = '{"error":"Precondition failed"}';

function send(file: File, { method, ifMatch, ifNoneMatch, headers }: Ask): Reply {
  const isGzipped = takesGzip(headers);
  // A strong ETag identifies the bytes that are sent.
  const etag = `"${file.hash}${isGzipped ? "-gzip" : ""}"`;
  const isHead = method === "HEAD";
  const status = judgeConditions(ifMatch, ifNoneMatch, etag);
  if (status === 412) {
    const lines = `${JSON_LINES}Content-Length: ${PRECONDITION_FAILED.length}\r\n`;
    return reply(status, lines, isHead ? "" : PRECONDITION_FAILED);
  }
  const known = `ETag: ${etag}\r\n${file.common}`;
  if (status === 304) return reply(status, known);
  if (!isGzipped) file.plain ??= gunzipSync(file.gzip);
  const bytes = isGzipped ? file.gzip : file.plain!;
  const { length } = bytes;
  const encoding = isGzipped ? "Content-Encoding: gzip\r\n" : "";
  const body: Body = { length, head: "", slices: sliceAll(bytes), end: "", isShared: true };
  return reply(status, `${file.own}${encoding}${known}Content-Length: ${length}\r\n`, isHead ? "" : body);
}

/** The redirect of `/`; it has no body and no ETag. */
const REDIRECT = reply(302, `Location: ${PAGE}\r\n${SHORTLY}Content-Length: 0\r\n`);

/** Answers a request for a page, or for `/` if there is no file. */
function answerWith(file: File | undefined, ask: Ask): Reply {
  if (ask.method === "GET" || ask.method === "HEAD") return file === undefined ? REDIRECT : send(file, ask);
  const body = FAULT_BODIES.methodNotAllowed;
  const lines = `${JSON_LINES}Allow: GET, HEAD\r\nContent-Length: ${body.length}\r\n`;
  return { ...reply(FAULTS.methodNotAllowed.status, lines, body), fault: "methodNotAllowed" };
}

function mayHold(path: string): boolean {
  return path === "/" || path === PAGE || path === DOCUMENT || path.startsWith(`${PAGE}/`);
}

type Files = ReadonlyMap<string, File>;

/** @internal Creates the server of the pages; undefined when they are off. @param limit of an API key, in words */
export function openPages(
  { docs, cors }: Pick<Settings, "docs" | "cors">,
  limit: string,
): PageServer | undefined {
  if (!docs) return undefined;
  let files: Files | Promise<Files> | undefined;

  async function read(): Promise<Files> {
    try {
      const stored = await readPages(REFERENCE);
      const prepared = stored.map(async (file) => [file.path, await prepare(file, limit, cors)] as const);
      files = new Map(await Promise.all(prepared));
      return files;
    } catch (error) {
      // A later attempt to read the files may succeed.
      files = undefined;
      throw error;
    }
  }

  return {
    home: PAGE,
    mayHold,
    answer(ask, path) {
      if (path === "/") return answerWith(undefined, ask);
      if (!mayHold(path)) return undefined;
      const answerFrom = (all: Files): Reply | undefined => {
        const file = all.get(path);
        return file && answerWith(file, ask);
      };
      files ??= read();
      return files instanceof Promise ? files.then(answerFrom) : answerFrom(files);
    },
  };
}
