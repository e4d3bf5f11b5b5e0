/**
 * The dashboard: one page that holds its script and its style.
 *
 * One reply is all of it, so a browser that has no token yet, and can send none when it is led here, is given the page
 * with the 401; the page asks for the token and sends it with its questions.
 */

import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { judgeConditions } from "../api/conditions.ts";
import { takesGzip } from "../api/pages/accept-encoding.ts";
import type { PageFile } from "../api/pages/file.ts";
import { readPages } from "../api/pages/read.ts";
import type { Ask, Reply } from "../model/message.ts";
import { DASHBOARD } from "./dashboard-source.ts";
import { type AdminRow, ASKS_FOR_TOKEN, adminReply } from "./router.ts";

const gunzipped = promisify(gunzip);

/** The page runs its own script and no other, speaks to this server alone, makes no markup of text, and stands in no frame. */
function policyOf({ allows }: PageFile): string {
  return [
    "default-src 'none'",
    `script-src ${allows!.script}`,
    `style-src ${allows!.style}`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/** Reads the page in both of its forms, and what is sent with it. */
async function readPage() {
  const [file] = await readPages(DASHBOARD);
  const gzip = Buffer.from(file!.gzip, "base64");
  const headers = {
    "Content-Type": file!.type,
    "Content-Security-Policy": policyOf(file!),
    // Kept, but asked for again each time: the page and the server are of one version.
    "Cache-Control": "no-cache",
    Vary: "Accept-Encoding",
  };
  return { hash: file!.hash, headers, gzip, plain: await gunzipped(gzip) };
}

/** Makes the answers of the page, which is read when it is first asked for. */
export function pageAnswers(): Pick<AdminRow, "answer" | "signIn"> {
  let page: ReturnType<typeof readPage> | undefined;

  async function whole(status: 200 | 401, { headers: asked }: Ask, known?: string): Promise<Reply> {
    page ??= readPage().catch((error: unknown) => {
      // It may be readable later.
      page = undefined;
      throw error;
    });
    const { hash, headers, gzip, plain } = await page;
    const isGzipped = takesGzip(asked?.get("accept-encoding") ?? undefined);
    const etag = `"${hash}${isGzipped ? "-gzip" : ""}"`;
    if (judgeConditions(undefined, known, etag) === 304) {
      return adminReply(304, { ...headers, ETag: etag }, "");
    }
    const encoding: Record<string, string> = isGzipped ? { "Content-Encoding": "gzip" } : {};
    const more = { ...headers, ...encoding, ETag: etag, ...(status === 401 ? ASKS_FOR_TOKEN : {}) };
    return adminReply(status, more, isGzipped ? gzip : plain);
  }

  return {
    answer: (ask) => whole(200, ask, ask.ifNoneMatch),
    signIn: (ask) => whole(401, ask),
  };
}
