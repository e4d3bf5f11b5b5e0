/** A reply of each operation over `data/sample`, for the OpenAPI document. `npm run docs` writes them; a test checks them. */

import { fileURLToPath } from "node:url";
import { ROUTES } from "../../src/api/routes.ts";
import { openOrrery } from "../../src/mod.ts";
import { BASE_PATH, type Instance, type World } from "../../src/model/model.ts";

export const EXAMPLES_FILE = fileURLToPath(new URL("../../src/docs-page/examples.json", import.meta.url));

const TOKEN = "svcx_of-the-examples";

/** Asks for every reply. @returns the text of {@link EXAMPLES_FILE} */
export async function makeExamples(): Promise<string> {
  const orrery = await openOrrery({
    snapshot: fileURLToPath(new URL("../../data/sample", import.meta.url)),
    keys: [{ id: "docs", kind: "cli", token: TOKEN }],
    threads: false,
  });
  try {
    const ask = async (target: string): Promise<unknown> => {
      const reply = await orrery.ask({ target: BASE_PATH + target, authorization: `Bearer ${TOKEN}` });
      if (reply.status !== 200) throw new Error(`${target}: ${reply.body}`);
      return JSON.parse(reply.body);
    };
    const [instance] = ((await ask("/instances?limit=1")) as { data: [Instance] }).data;
    const { data: world } = (await ask(`/worlds/${instance.worldId}`)) as { data: World };
    const ids: Record<string, string> = { worlds: world.id, users: world.ownerId, instances: instance.id };
    const word = /\p{L}+/u.exec(world.name)![0];
    const lines: string[] = [];
    for (const { name, path, parameters } of ROUTES) {
      const query = new URLSearchParams();
      if (parameters.includes("q")) query.set("q", path.startsWith("/users") ? "a" : word);
      if (parameters.includes("period")) query.set("period", "week");
      if (parameters.includes("limit")) query.set("limit", "2");
      if (parameters.includes("offset") && name.startsWith("list")) query.set("offset", "0");
      const target =
        path.replace(":id", ids[path.split("/")[1]!] ?? "") + (query.size > 0 ? `?${query}` : "");
      lines.push(`${JSON.stringify(name)}: ${JSON.stringify({ target, body: await ask(target) })}`);
    }
    // One line for each operation.
    return `{\n${lines.join(",\n")}\n}\n`;
  } finally {
    orrery.close();
  }
}
