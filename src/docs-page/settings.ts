/** The settings of the API reference. */

import { SERVING, type Setting } from "../settings/settings.ts";

/** Their rows. */
export const DOCS_PAGE_SETTINGS = [
  {
    flag: "docs",
    after: "cors",
    kind: "flag",
    default: "on",
    meaning: "Serve an API reference at `/docs` and the OpenAPI document at `/openapi.json`.",
    commands: SERVING,
  },
] as const satisfies readonly Setting[];
