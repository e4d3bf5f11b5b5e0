/**
 * The dashboard: one page that includes its script and its style. A browser cannot send the token when it opens the page,
 * so the 401 carries the whole page, which asks for the token and sends it with its requests.
 */

import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { judgeConditions } from "../api/conditions.ts";
import type { PageFile } from "../api/pages/file.ts";
import { readPages, takesGzip } from "../api/pages/serve.ts";
import type { Ask, Reply } from "../model/message.ts";
import { DASHBOARD } from "./dashboard-source.ts";
import { type AdminRow, ASKS_FOR_TOKEN, adminReply } from "./router.ts";

/** The page runs only its own script, connects only to this server, turns no text into markup, and cannot be framed. */
function policyOf({ allows }: PageFile): string {
  return [
    "default-src 'none'",
    allows!,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

async function readPage() {
  const [file] = await readPages(DASHBOARD);
  const gzip = Buffer.from(file!.gzip, "base64");
  const headers = {
    "Content-Type": file!.type,
    "Content-Security-Policy": policyOf(file!),
    // Cached, but revalidated each time: the page must be of the server's version.
    "Cache-Control": "no-cache",
    Vary: "Accept-Encoding",
  };
  return { hash: file!.hash, headers, gzip, plain: await promisify(gunzip)(gzip) };
}

/** Creates the answers of the page; the first request reads it. */
export function pageAnswers(): Pick<AdminRow, "answer" | "signIn"> {
  let page: Awaited<ReturnType<typeof readPage>> | undefined;

  async function whole(status: 200 | 401, { headers: asked }: Ask, ifNoneMatch?: string): Promise<Reply> {
    page ??= await readPage();
    const { hash, headers, gzip, plain } = page;
    const isGzipped = takesGzip(asked);
    // No mark of a compressing proxy, which would count as the tag without it.
    const etag = `"${hash}${isGzipped ? "-gz" : ""}"`;
    const all = { ...headers, ETag: etag };
    if (judgeConditions(undefined, ifNoneMatch, etag) === 304) return adminReply(304, all, "");
    const more = status === 401 ? { ...all, ...ASKS_FOR_TOKEN } : all;
    if (!isGzipped) return adminReply(status, more, plain);
    return adminReply(status, { ...more, "Content-Encoding": "gzip" }, gzip);
  }

  return { answer: (ask) => whole(200, ask, ask.ifNoneMatch), signIn: (ask) => whole(401, ask) };
}
