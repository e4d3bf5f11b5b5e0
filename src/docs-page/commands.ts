/** The command that prints the OpenAPI document. */

import type { CommandRows } from "../cli/command.ts";

export const DOCS_PAGE_COMMANDS: CommandRows<"openapi"> = [
  {
    name: "openapi",
    after: "build",
    usage: "",
    summary: "Print the OpenAPI document of the API.",
    run: async ({ values }, io) => {
      const { createOpenApi } = await import("./openapi.ts");
      io.print(`${JSON.stringify(createOpenApi(undefined, values.server), null, 2)}\n`);
    },
  },
];
