/** Texts that a refactoring must not change: help, the OpenAPI document, names and labels of metrics. */

import { after, it } from "node:test";
import { createOpenApi } from "../src/api/openapi.ts";
import { ROUTES } from "../src/api/routes.ts";
import { helpFor, overview } from "../src/cli/help.ts";
import { PROGRAM } from "../src/features.ts";
import { cleanUp, serve } from "./support/http-server.ts";
import { get } from "./support/process.ts";
import { Recording } from "./support/recorded.ts";

after(cleanUp);

it("help texts are those recorded", () => {
  const recording = new Recording("help");
  recording.add("overview", overview(PROGRAM.commands));
  for (const row of PROGRAM.commands) recording.add(row.name, helpFor(row, PROGRAM.settings));
  recording.check();
});

it("the OpenAPI document is the one recorded", () => {
  const recording = new Recording("openapi");
  recording.add("document", JSON.stringify(createOpenApi(ROUTES)));
  recording.check();
});

/** A line of the metrics without its value, and without the name of a generation. */
function nameOf(line: string): string {
  return line.replace(/ [^ ]+$/, "").replace(/generation="[^"]*"/, 'generation=""');
}

it("names, types and labels of metrics are those recorded", async () => {
  const server = await serve({ admin: { address: { host: "127.0.0.1", port: 0 } } });
  const { text } = await get(`http://127.0.0.1:${server.adminPort}/metrics`);
  const lines = text.split("\n").map((line) => (line.startsWith("#") ? line : nameOf(line)));
  const recording = new Recording("metrics");
  // The others are Node's own, and differ with its version.
  recording.add("text", lines.filter((line) => /^(# (HELP|TYPE) )?(http|orrery)_/.test(line)).join("\n"));
  recording.check();
});
