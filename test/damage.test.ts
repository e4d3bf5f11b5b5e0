/** Files of the program that cannot be parsed are told from other errors, wherever they are imported. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { damageOf } from "../src/util/system-error.ts";

const folder = mkdtempSync(join(tmpdir(), "orrery-damage-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** What the import of a file with some text fails with. */
async function errorOf(name: string, text: string): Promise<unknown> {
  const file = join(folder, name);
  writeFileSync(file, text);
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("damage of the installation", () => {
  for (const [name, text] of [
    ["cut-off.mjs", "export function start() {\n"],
    ["half-a-class.mjs", "export class Thread { start() { this.#fail(); } }"],
    ["half-a-word.mjs", "export const text = 'abc"],
    ["names-nothing.mjs", 'import { nothing } from "node:path";'],
    ["imports-nothing.mjs", 'import "./nowhere.mjs";'],
  ] as const) {
    it(`is told of ${name}`, async () => {
      assert.match(
        String(damageOf(await errorOf(name, text))),
        /^the installation is damaged, install it again: ./,
      );
    });
  }

  it("is not what a file throws by itself", async () => {
    assert.equal(damageOf(await errorOf("parses.mjs", 'JSON.parse("{");')), undefined);
    assert.equal(damageOf(await errorOf("throws.mjs", "throw new SyntaxError('no');")), undefined);
    assert.equal(damageOf(await errorOf("calls.mjs", "undefined.start();")), undefined);
  });
});
