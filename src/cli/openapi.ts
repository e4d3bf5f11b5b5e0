/** `orrery openapi`: the API as an OpenAPI document. */

import { createOpenApi } from "../api/openapi.ts";
import { ROUTES } from "../api/routes.ts";
import type { CommandIo } from "./command.ts";
import type { Options } from "./options.ts";

/** Runs the command. */
export async function openapi(_options: Options<"openapi">, io: CommandIo): Promise<void> {
  io.print(`${JSON.stringify(createOpenApi(ROUTES), null, 2)}\n`);
}
