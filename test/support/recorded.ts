/**
 * Bytes that a refactoring must not change, compared with hashes recorded before it.
 *
 * `ORRERY_RECORD=1` records them anew: only for an intended change of these bytes, named in its commit.
 */

import assert from "node:assert/strict";
import { createHash, type Hash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const FOLDER = new URL("../golden/recorded/", import.meta.url);

export class Recording {
  readonly #file: URL;
  readonly #recorded: Record<string, string>;
  readonly #hashes = new Map<string, Hash>();

  constructor(subject: string) {
    this.#file = new URL(`${subject}.json`, FOLDER);
    this.#recorded = existsSync(this.#file) ? JSON.parse(readFileSync(this.#file, "utf8")) : {};
  }

  /** Adds a text to the bytes of a name. */
  add(name: string, text: string): void {
    let hash = this.#hashes.get(name);
    if (hash === undefined) {
      hash = createHash("sha256");
      this.#hashes.set(name, hash);
    }
    hash.update(text).update("\0");
  }

  /** Compares everything that was added; writes it if recording was asked for. */
  check(): void {
    const made = Object.fromEntries(
      [...this.#hashes].map(([name, hash]) => [name, hash.digest("hex").slice(0, 16)]),
    );
    if (process.env.ORRERY_RECORD === "1") {
      mkdirSync(FOLDER, { recursive: true });
      const all = { ...this.#recorded, ...made };
      writeFileSync(this.#file, `${JSON.stringify(all, Object.keys(all).sort(), 2)}\n`);
      return;
    }
    const known = Object.fromEntries(Object.keys(made).map((name) => [name, this.#recorded[name]]));
    assert.deepEqual(made, known, "bytes differ from those recorded; ORRERY_RECORD=1 records wanted changes");
  }
}
