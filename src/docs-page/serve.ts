/**
 * Serving a set of pages: a request's parts in, a reply out, as files are served
 * (RFC 9110: HEAD, conditions, gzip). A range is answered with the whole file.
 *
 * A set is read when something of it is first asked for, and stays in memory,
 * gzipped. Replies share its bytes: a peer that reads slowly costs no copy.
 */

import { promisify } from "node:util";
import { constants, gunzipSync, gzip } from "node:zlib";
import { judgeConditions } from "../api/conditions.ts";
import { FAULT_BODIES } from "../api/headers.ts";
import { takesGzip } from "../api/pages/accept-encoding.ts";
import { type PageFile, type PagesSource, pageHash } from "../api/pages/file.ts";
import type { PageRequest, PageServer } from "../api/pages/page-server.ts";
import { readPages } from "../api/pages/read.ts";
import { type Body, sliceAll } from "../model/body.ts";
import { FAULTS } from "../model/fault.ts";
import type { Reply } from "../model/message.ts";

/** How a set is served. */
export interface PageServerOptions {
  /** Paths that lead to another, each with its target. */
  readonly redirects?: Readonly<Record<string, string>>;
  /** Whether a path may be one of the set, so that it is worth reading. */
  readonly mayHold: (path: string) => boolean;
  /** Paths of files that other origins may read. */
  readonly crossOrigin?: readonly string[];
  /** What takes the place of a text in the files whose names hold no hash. */
  readonly fill?: { readonly text: string; readonly by: string };
}

/** Pages run nothing but scripts of this server, are styled by its files, speak to it alone, and stand in no frame. */
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

const ALLOW = "Allow: GET, HEAD\r\n";
const JSON_TYPE = "Content-Type: application/json; charset=utf-8\r\n";
const NO_SNIFFING = "X-Content-Type-Options: nosniff\r\n";
const CROSS_ORIGIN = "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ETag\r\n";

/** One file in one encoding. */
interface Variant {
  readonly etag: string;
  /** Header lines of a 200 but for what all replies with the file carry. */
  readonly headers: string;
  readonly bytes: Buffer;
}

/** One file, ready to be sent. */
interface File {
  /** Header lines of a 200 and a 304. */
  readonly common: string;
  readonly gzipped: Variant;
  /** Not encoded, which few ask for: made when it is first needed, in some milliseconds. */
  readonly plain: () => Variant;
}

const gzipped = promisify(gzip);

/** The file with what the server says of itself. */
async function fillIn(
  file: PageFile,
  { text, by }: NonNullable<PageServerOptions["fill"]>,
): Promise<PageFile> {
  if (file.isHashed) return file;
  const whole = String(gunzipSync(Buffer.from(file.gzip, "base64")));
  if (!whole.includes(text)) return file;
  const filled = whole.replaceAll(text, by);
  const bytes = await gzipped(filled, { level: constants.Z_BEST_COMPRESSION });
  return { ...file, hash: pageHash(filled), gzip: bytes.toString("base64") };
}

function prepare({ path, type, hash, isHashed, gzip }: PageFile, isCrossOrigin: boolean): [string, File] {
  const bytes = Buffer.from(gzip, "base64");
  const isHtml = type.startsWith("text/html");
  const own = `Content-Type: ${type}\r\n${NO_SNIFFING}${isHtml ? SAFETY : ""}`;
  let plain: Variant | undefined;
  return [
    path,
    {
      common: `${isHashed ? FOREVER : SHORTLY}Vary: Accept-Encoding\r\n${isCrossOrigin ? CROSS_ORIGIN : ""}`,
      // A strong tag names the bytes that are sent.
      gzipped: { etag: `"${hash}-gzip"`, headers: `${own}Content-Encoding: gzip\r\n`, bytes },
      plain() {
        plain ??= { etag: `"${hash}"`, headers: own, bytes: gunzipSync(bytes) };
        return plain;
      },
    },
  ];
}

function reply(status: number, headers: string, body: Reply["body"] = ""): Reply {
  return { status, headers, body, route: "", keyId: "" };
}

const PRECONDITION_FAILED = '{"error":"Precondition failed"}';

function send(file: File, request: PageRequest): Reply {
  const { etag, headers, bytes } = takesGzip(request.acceptEncoding) ? file.gzipped : file.plain();
  const tag = `ETag: ${etag}\r\n`;
  const isHead = request.method === "HEAD";
  const status = judgeConditions(request.ifMatch, request.ifNoneMatch, etag);
  if (status === 412) {
    const lines = `${JSON_TYPE}Cache-Control: no-store\r\nContent-Length: ${PRECONDITION_FAILED.length}\r\n`;
    return reply(status, lines, isHead ? "" : PRECONDITION_FAILED);
  }
  if (status === 304) return reply(status, tag + file.common);
  const { length } = bytes;
  const lines = `${headers}${tag}${file.common}Content-Length: ${length}\r\n`;
  const body: Body = { length, head: "", slices: sliceAll(bytes), end: "", isShared: true };
  return reply(status, lines, isHead ? "" : body);
}

/** Where another path leads; it has no body, and nothing to compare. */
function redirect(to: string): Reply {
  return reply(302, `Location: ${to}\r\n${SHORTLY}Content-Length: 0\r\n`);
}

function refuse(request: PageRequest): Reply {
  const body = FAULT_BODIES.methodNotAllowed;
  const lines = `${JSON_TYPE}Cache-Control: no-store\r\n${ALLOW}Content-Length: ${body.length}\r\n`;
  const { status } = FAULTS.methodNotAllowed;
  return { ...reply(status, lines, request.method === "HEAD" ? "" : body), fault: "methodNotAllowed" };
}

/** Makes the server of a set. */
export function createPageServer(source: PagesSource, options: PageServerOptions): PageServer {
  const { redirects = {}, mayHold, crossOrigin = [], fill } = options;
  const targets = new Map(Object.entries(redirects));
  let files: ReadonlyMap<string, File> | Promise<ReadonlyMap<string, File>> | undefined;

  async function read(): Promise<ReadonlyMap<string, File>> {
    try {
      const stored = await readPages(source);
      const own = fill === undefined ? stored : await Promise.all(stored.map((file) => fillIn(file, fill)));
      files = new Map(own.map((file) => prepare(file, crossOrigin.includes(file.path))));
      return files;
    } catch (error) {
      // What cannot be opened now may be later.
      files = undefined;
      throw error;
    }
  }

  function answerFrom(set: ReadonlyMap<string, File>, request: PageRequest): Reply | undefined {
    const file = set.get(request.path);
    if (file === undefined) return undefined;
    return isRead(request) ? send(file, request) : refuse(request);
  }

  return {
    home: source.path,
    mayHold,
    answer(request) {
      const target = targets.get(request.path);
      if (target !== undefined) return isRead(request) ? redirect(target) : refuse(request);
      if (!mayHold(request.path)) return undefined;
      files ??= read();
      return files instanceof Promise
        ? files.then((set) => answerFrom(set, request))
        : answerFrom(files, request);
    },
  };
}

function isRead({ method }: PageRequest): boolean {
  return method === "GET" || method === "HEAD";
}
