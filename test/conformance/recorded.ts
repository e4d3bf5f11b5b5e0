/**
 * Texts that a refactoring must not change, recorded in `test/golden/recorded` so that a change of them shows in a diff.
 *
 * A section stands for the texts of one name: the hash of all of them, and the first ones, up to a number of characters.
 * Texts are indented, and their control characters escaped. `ORRERY_RECORD=1` records them anew: only for an intended
 * change, named in its commit.
 */

import assert from "node:assert/strict";
import { createHash, type Hash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { differenceOf } from "./difference.ts";

const FOLDER = new URL("../golden/recorded/", import.meta.url);

interface Section {
  readonly hash: Hash;
  shown: string;
  isCut: boolean;
}

/** A text as lines of a section, which no heading can be mistaken for. */
function readable(text: string, most: number): string {
  const cut =
    text.length > most ? `${text.slice(0, most)} … and ${text.length - most} more characters` : text;
  const escaped = cut
    .toWellFormed()
    .replace(
      /(?!\n)[\p{Cc}\u200b-\u200f\u2028-\u202e\u2066-\u2069]/gu,
      (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
    );
  return `${escaped.trimEnd().replace(/^(?=.)/gm, "  ")}\n`;
}

/** The sections of a file by name, each with its heading. */
function sectionsOf(text: string): Map<string, string> {
  const sections = text.split(/^(?=== )/m).filter(Boolean);
  return new Map(sections.map((section) => [/^== (.*) sha256 /.exec(section)![1]!, section]));
}

/** Sections that a failure tells. */
const MOST_TOLD = 8;

/** The first lines that differ. The headings always do, by their hashes. */
function differenceOfSections(recorded: string | undefined, made: string): string {
  if (recorded === undefined) return "is not recorded";
  const [wanted, got] = [recorded.split("\n"), made.split("\n")];
  const at = wanted.findIndex((line, at) => at > 0 && line !== got[at]);
  if (at < 0) return "differs in a part that is recorded as a hash alone";
  return `line ${at}: ${differenceOf(wanted[at]!.trim(), got[at]?.trim() ?? "")}`;
}

export class Recording {
  readonly #file: URL;
  readonly #most: number;
  readonly #mostOfText: number;
  readonly #sections = new Map<string, Section>();

  /** @param most characters shown of a name's texts, and `mostOfText` of one text; the hash covers the rest */
  constructor(subject: string, most = Number.POSITIVE_INFINITY, mostOfText = most) {
    this.#file = new URL(`${subject}.txt`, FOLDER);
    this.#most = most;
    this.#mostOfText = mostOfText;
  }

  /** Adds a text to a name. @param heading shown above it, but not compared by the hash */
  add(name: string, text: string, heading = ""): void {
    const section = this.#sections.get(name) ?? { hash: createHash("sha256"), shown: "", isCut: false };
    this.#sections.set(name, section);
    section.hash.update(text).update("\0");
    section.isCut ||= section.shown.length >= this.#most;
    if (!section.isCut) section.shown += `${readable(heading + text, this.#mostOfText)}\n`;
  }

  /** Compares everything that was added; writes it if recording was asked for. @param isWhole whether the file has nothing else */
  check(isWhole = false): void {
    const recorded = existsSync(this.#file)
      ? sectionsOf(readFileSync(this.#file, "utf8"))
      : new Map<string, string>();
    const made = new Map<string, string>();
    for (const [name, { hash, shown, isCut }] of this.#sections) {
      const rest = isCut ? "  … and more texts\n\n" : "";
      made.set(name, `== ${name} sha256 ${hash.digest("hex").slice(0, 16)}\n\n${shown}${rest}`);
    }
    if (process.env.ORRERY_RECORD === "1") {
      mkdirSync(FOLDER, { recursive: true });
      const all = [...new Map([...(isWhole ? [] : recorded), ...made])].sort(([a], [b]) => (a < b ? -1 : 1));
      writeFileSync(this.#file, all.map(([, section]) => section).join(""));
      return;
    }
    if (isWhole) assert.deepEqual([...recorded.keys()].sort(), [...made.keys()].sort());
    const differing = [...made].filter(([name, section]) => section !== recorded.get(name));
    if (differing.length === 0) return;
    const told = differing
      .slice(0, MOST_TOLD)
      .map(([name, section]) => `${name}: ${differenceOfSections(recorded.get(name), section)}`);
    assert.fail(
      `${differing.length} sections differ; npm run record records wanted changes:\n${told.join("\n")}`,
    );
  }
}
