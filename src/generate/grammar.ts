/**
 * A small text grammar: each symbol has choices, and a choice may name further
 * symbols in braces.
 *
 * Symbols come in two kinds. A string is a list of words split at white space,
 * common ones first: early words are drawn more often, as in real text. An
 * array is a list of phrases, all equally likely; there `{noun}` draws from a
 * symbol and `{^noun}` does so with a capital first letter.
 */

import type { Random } from "../util/random.ts";

/** Symbols by name. */
export type Grammar = Readonly<Record<string, string | readonly string[]>>;

/** Draws a text. */
export type Draw = (random: Random) => string;

const SLOT = /\{(\^?)(\w+)\}/g;

function capitalize(text: string): string {
  const first = String.fromCodePoint(text.codePointAt(0) ?? 32);
  return first.toUpperCase() + text.slice(first.length);
}

function drawWord(words: readonly string[]): Draw {
  return (random) => {
    const unit = random.unit();
    return words[Math.floor(unit * (0.3 + 0.7 * unit) * words.length)];
  };
}

/**
 * Makes the drawing function of each symbol.
 *
 * @throws {Error} when a phrase names a symbol that is not there
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { compileGrammar } from "./grammar.ts";
 * import { createRandom } from "../util/random.ts";
 * const { greeting } = compileGrammar({ greeting: ["{^word}!"], word: "hello" });
 * assert.equal(greeting(createRandom(1, "example")), "Hello!");
 * ```
 */
export function compileGrammar<G extends Grammar>(grammar: G): Readonly<Record<keyof G & string, Draw>> {
  const draws: Record<string, Draw> = {};
  // A slot's symbol may be compiled later than the phrase.
  const links: (() => void)[] = [];

  function compilePhrase(phrase: string): Draw {
    const texts: string[] = [];
    const slots: Draw[] = [];
    let from = 0;
    for (const found of phrase.matchAll(SLOT)) {
      const [slot, capital, name] = found;
      if (grammar[name] === undefined) throw new Error(`no symbol ${slot} for "${phrase}"`);
      texts.push(phrase.slice(from, found.index));
      const at = slots.length;
      slots.push(() => "");
      links.push(() => {
        const draw = draws[name];
        slots[at] = capital ? (random) => capitalize(draw(random)) : draw;
      });
      from = found.index + slot.length;
    }
    const end = phrase.slice(from);
    return (random) => {
      let text = "";
      for (let at = 0; at < slots.length; at++) text += texts[at] + slots[at](random);
      return text + end;
    };
  }

  for (const [name, choices] of Object.entries(grammar)) {
    if (typeof choices === "string") {
      draws[name] = drawWord(choices.trim().split(/\s+/));
    } else {
      const phrases = choices.map(compilePhrase);
      draws[name] = (random) => phrases[random.below(phrases.length)](random);
    }
  }
  for (const link of links) link();
  return draws as Record<keyof G & string, Draw>;
}
