/** Replies of another server, whatever it sends: bounded, and in words where they are not what was asked for. */

import { isObject } from "../util/json.ts";
import { SourceError } from "../util/source-error.ts";
import { type Answer, retryAfterOf } from "./request.ts";

const MOST_BODY_BYTES = 67_108_864;

/** The `error` of another server, at most 200 characters and without what would change a terminal. */
function shown(text: string): string {
  const clean = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}

/** All of a body. @throws {SourceError} when it is too large */
export async function readText(url: string, { chunks }: Answer): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MOST_BODY_BYTES) {
      throw new SourceError(`${url}: the reply is larger than ${MOST_BODY_BYTES} bytes`, { isLasting: true });
    }
    // A chunk belongs to its reader until the next is taken.
    parts.push(Buffer.from(chunk));
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Far more levels than replies of the API have; what is nested deeper could not be gone through. */
const MOST_LEVELS = 32;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

/** JSON, or undefined where it is none that the API could send. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isDeeper(value, MOST_LEVELS) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** What a status that was not expected means, in words. */
export function refusalOf(url: string, status: number, headers: Headers, body: unknown): SourceError {
  const said = isObject(body) && typeof body.error === "string" ? `: ${shown(body.error)}` : "";
  const fail = (what: string, isLasting = true): SourceError =>
    new SourceError(`${url}: ${what}`, { isLasting, status, retryAfterMs: retryAfterOf(headers) });
  if (status >= 300 && status < 400 && status !== 304) {
    const location = headers.get("location") ?? "";
    const to = URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : "";
    return fail(`the server redirects${to}; a token is not sent there: give the address itself`);
  }
  if (status === 401 || status === 403) {
    return fail(`the server answered ${status}${said} (see --token-file)`);
  }
  return fail(`the server answered ${status}${said}`, status < 500 && status !== 408);
}
