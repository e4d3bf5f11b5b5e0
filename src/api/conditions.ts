/** Conditional requests: If-Match and If-None-Match against the only ETag (RFC 9110, 13.1). */

import { MAX_ELEMENTS } from "../model/message.ts";

const ENTITY_TAG = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** The end of a tag that a compressing proxy marked, such as Apache: the representation differs, the generation does not. */
const MARK = /^(?:--?|;)(?:gzip|br|zstd|deflate)"$/;

function isTag(tag: string, etag: string): boolean {
  if (tag === etag) return true;
  const length = etag.length - 1;
  return tag.startsWith(etag.slice(0, length)) && MARK.test(tag.slice(length));
}

function names(header: string, etag: string, weakCounts: boolean): boolean {
  if (header.trim() === "*") return true;
  let left = MAX_ELEMENTS;
  for (const [, weak, tag] of header.matchAll(ENTITY_TAG)) {
    if (left-- === 0) break;
    if (isTag(tag!, etag) && (weakCounts || weak === undefined)) return true;
  }
  return false;
}

/** Judges the conditions of a request that would get a 200. @param etag the current tag, quotes included */
export function judgeConditions(
  ifMatch: string | undefined,
  ifNoneMatch: string | undefined,
  etag: string,
): 200 | 304 | 412 {
  if (ifMatch !== undefined && !names(ifMatch, etag, false)) return 412;
  if (ifNoneMatch !== undefined && names(ifNoneMatch, etag, true)) return 304;
  return 200;
}
