/** The settings of the API reference. */

import { SERVING, type Setting } from "../settings/settings.ts";

/** @internal Their rows. */
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
