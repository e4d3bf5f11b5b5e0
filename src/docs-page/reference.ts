/** The pages beside the API: the reference of its operations, and the document that it is made from. */

import { LIMIT } from "../api/pages/file.ts";
import { createPageServer, type PageServer } from "../api/pages/serve.ts";

const PAGE = "/docs";
const DOCUMENT = "/openapi.json";

/** Whether a path may be one of these pages. */
export function isReferencePath(path: string): boolean {
  return path === "/" || path === PAGE || path === DOCUMENT || path.startsWith(`${PAGE}/`);
}

/**
 * Makes the server of the pages.
 *
 * @param corsOn whether pages of other origins may read the document
 * @param limit requests of an API key and their window, in words
 */
export function createReference(corsOn: boolean, limit: string): PageServer {
  return createPageServer("reference", {
    redirects: { "/": PAGE },
    mayHold: isReferencePath,
    crossOrigin: corsOn ? [DOCUMENT] : [],
    fill: { text: LIMIT, by: limit },
  });
}
