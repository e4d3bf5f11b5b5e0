/** The pages beside the API, and their setting: the reference of its operations, and the document that it is made from. */

import { LIMIT, type PagesSource } from "../api/pages/file.ts";
import type { PageServer } from "../api/pages/page-server.ts";
import { ROUTES } from "../api/routes.ts";
import { SERVING, type Setting, type Settings } from "../settings/settings.ts";
import { createPageServer } from "./serve.ts";

/** @internal The rows of their settings. */
export const DOCS_PAGE_SETTINGS = [
  {
    flag: "docs",
    isOption: true,
    after: "cors",
    kind: "flag",
    default: "on",
    meaning: "Serve an API reference at `/docs` and the OpenAPI document at `/openapi.json`.",
    commands: SERVING,
  },
] as const satisfies readonly Setting[];

/** Options of the library for the API reference. */
export interface DocsPageOptions {
  /** Whether an API reference is served at `/docs`, and the OpenAPI document at `/openapi.json`; true when absent. */
  readonly docs?: boolean;
}

const PAGE = "/docs";
const DOCUMENT = "/openapi.json";

/** Set by the build, whose program has the document and not what makes it. */
declare const IS_BUILT: boolean | undefined;

async function makeDocument(): Promise<unknown> {
  if (typeof IS_BUILT === "undefined") {
    return (await import("../api/openapi.ts")).createOpenApi(ROUTES, LIMIT);
  }
  return undefined;
}

/** @internal What they are made of. */
export const REFERENCE: PagesSource = {
  name: "reference",
  folder: "docs-page/page/",
  path: PAGE,
  html: "index.html",
  under: "docs/",
  bundled: ["page.ts", "page.css"],
  copied: {
    "swagger-ui.js": "swagger-ui-dist/swagger-ui-bundle.js",
    "swagger-ui.css": "swagger-ui-dist/swagger-ui.css",
  },
  documents: { [DOCUMENT]: makeDocument },
};

/**
 * @internal
 * Makes the server of the pages; undefined where they are turned off.
 *
 * @param limit requests of an API key and their window, in words
 */
export function openPages(
  { docs, cors }: Pick<Settings, "docs" | "cors">,
  limit: string,
): PageServer | undefined {
  if (!docs) return undefined;
  return createPageServer(REFERENCE, {
    redirects: { "/": PAGE },
    mayHold: (path) => path === "/" || path === PAGE || path === DOCUMENT || path.startsWith(`${PAGE}/`),
    crossOrigin: cors ? [DOCUMENT] : [],
    fill: { text: LIMIT, by: limit },
  });
}
