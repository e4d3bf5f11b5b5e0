/**
 * Realistic names and descriptions: from a word to a page, with sentences in one or two languages, addresses, credits and
 * changes, in ornamented lines or in one long line.
 */

import type { Random } from "../util/random.ts";
import { ALPHABETS, type Grammar, LANGUAGES, LOOKALIKES, SIGNS, SMALL_CAPITALS } from "./vocabulary.ts";

/** A symbol of a grammar: words, with early ones drawn more often, or else phrases. */
export interface Choices {
  readonly words: readonly string[];
  readonly phrases: Phrase[];
}

type Symbols = Readonly<Record<string, Choices>>;

/** A text with slots where symbols are drawn; `after` is the text up to the next slot. */
interface Phrase {
  readonly before: string;
  readonly slots: readonly { symbol: Choices; change: Change | undefined; times: number; after: string }[];
}

type Change = (text: string, random: Random) => string;

/** Replaces ASCII letters with those of a mathematical or phonetic alphabet. */
function restyle(text: string, random: Random): string {
  const first = ALPHABETS[random.below(ALPHABETS.length + 1)];
  return text.replaceAll(/[a-z]/gi, (c) => {
    const code = c.charCodeAt(0);
    if (first === undefined) return SMALL_CAPITALS[(code - 1) % 32]!;
    return String.fromCodePoint(first + code - (code < 97 ? 65 : 71));
  });
}

/** Replaces signs with lookalikes, as platforms do that forbid addresses in texts. */
function disguise(text: string): string {
  return text.replaceAll(/[.,/:!?[\]()"@#&]/g, (c) => LOOKALIKES[SIGNS.indexOf(c)]!);
}

function capitalize(text: string): string {
  const first = String.fromCodePoint(text.codePointAt(0)!);
  return first.toUpperCase() + text.slice(first.length);
}

/** Changes to a drawn text, by their name in a phrase. */
const CHANGES: Readonly<Record<string, Change>> = {
  "^": capitalize,
  "a ": (text) => ("aeiou".includes(text[0]!) ? `an ${text}` : `a ${text}`),
  "A ": (text) => ("aeiou".includes(text[0]!) ? `An ${text}` : `A ${text}`),
  "upper ": (text) => text.toUpperCase(),
  "lower ": (text) => text.toLowerCase(),
  "tight ": (text) => text.replaceAll(" ", ""),
  "under ": (text) => text.replaceAll(" ", "_"),
  "decomposed ": (text) => text.normalize("NFD"),
  // The full-width forms of printable ASCII.
  "wide ": (text) => text.replaceAll(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
  "styled ": restyle,
};
const SLOT = /\{(\^|\w+ )?(\w+)(?:\*(\d+))?\}/g;

function copies<T>(many: number, value: T): T[] {
  return new Array<T>(many).fill(value);
}

/** Compiles a grammar to symbols. @throws {Error} when a phrase names an unknown symbol or change */
export function compileGrammar(grammar: Grammar): Symbols {
  const symbols: Record<string, Choices> = {};
  for (const [name, text] of Object.entries(grammar))
    symbols[name] = { words: /[|{]/.test(text) ? [] : text.split(/\s+/), phrases: [] };

  function compilePhrase(text: string): Phrase {
    const found = [...text.matchAll(SLOT)];
    const slots = found.map(({ 0: slot, 1: change = "", 2: name, 3: times = "1", index }, at) => {
      const symbol = symbols[name!];
      if (symbol === undefined || (change !== "" && CHANGES[change] === undefined))
        throw new Error(`no symbol ${slot} for "${text}"`);
      const after = text.slice(index + slot.length, found[at + 1]?.index);
      return { symbol, change: CHANGES[change], times: Number(times), after };
    });
    return { before: text.slice(0, found[0]?.index), slots };
  }

  for (const [name, { words, phrases }] of Object.entries(symbols)) {
    if (words.length > 0) continue;
    for (const choice of grammar[name]!.split(/\|(?:\n\s*)?/)) {
      const [, many = "1", phrase = ""] = /^(?:(\d+)×)?(.*)$/s.exec(choice)!;
      phrases.push(...copies(Number(many), compilePhrase(phrase)));
    }
  }
  return symbols;
}

function sayPhrase({ before, slots }: Phrase, random: Random): string {
  let text = before;
  for (let at = 0; at < slots.length; at++) {
    const { symbol, change, times, after } = slots[at]!;
    for (let left = times; left > 0; left--) {
      const drawn = say(symbol, random);
      text += change === undefined ? drawn : change(drawn, random);
    }
    text += after;
  }
  return text;
}

export function say({ words, phrases }: Choices, random: Random): string {
  const unit = random.unit();
  if (words.length > 0) return words[Math.floor(unit * (0.3 + 0.7 * unit) * words.length)]!;
  return sayPhrase(phrases[Math.floor(unit * phrases.length)]!, random);
}

function pick<T>(choices: readonly T[], random: Random): T {
  return choices[random.below(choices.length)]!;
}

const languages = LANGUAGES.map(({ grammar }) => compileGrammar(grammar));
/** Each language, repeated in proportion to its share. */
const languagesOfUsers = languages.flatMap((language, at) => copies(LANGUAGES[at]!.users, language));
const languagesOfWorlds = languages.flatMap((language, at) => copies(LANGUAGES[at]!.worlds, language));

export function drawDisplayName(random: Random): string {
  return say(pick(languagesOfUsers, random).name, random);
}

/** A random number of sentences of different shapes: a repetitive text looks artificial. */
function prose({ sentence, gap }: Symbols, random: Random): string {
  const shapes = sentence.phrases;
  const unit = random.unit();
  const wanted = 20 + 260 * unit * unit;
  const between = say(gap, random);
  const first = random.below(shapes.length);
  let text = sayPhrase(shapes[first]!, random);
  for (let more = 1; text.length < wanted && more < shapes.length; more++)
    text += between + sayPhrase(shapes[(first + more) % shapes.length]!, random);
  return text;
}

/** Maximum UTF-16 code units of a description. */
const LONGEST = 2000;

/** Joins the parts that fit. */
function join(parts: readonly string[], separator: string): string {
  return parts.reduce((text, part) =>
    text.length + separator.length + part.length > LONGEST ? text : text + separator + part,
  );
}

/** Several sections, with prose between them. */
function sections(language: Symbols, other: Symbols, random: Random): string[] {
  const parts: string[] = [];
  for (let left = 2 + random.below(6); left > 0; left--) {
    parts.push(say((random.chance(0.3) ? other : language).section, random));
    if (random.chance(0.3)) parts.push(prose(language, random));
  }
  return parts;
}

/** A description in one language, sometimes with prose in another. */
function drawDescription(language: Symbols, other: Symbols, random: Random): string {
  const kind = random.unit();
  if (kind < 0.1) return say(language.brief, random);
  const parts = [prose(language, random)];
  if (random.chance(0.25)) parts.push(prose(other, random));
  if (random.chance(0.15)) parts.push(say(language.section, random));
  if (kind > 0.2)
    for (let left = 1 + random.below(10); left > 0; left--) parts.push(say(language.extra, random));
  // A few descriptions are long.
  if (kind > 0.93) parts.push(...sections(language, other, random));
  const text = join(parts, say(language.separator, random));
  if (random.chance(0.1)) return disguise(text);
  // Restyled letters can take two code units each.
  return text.length * 2 <= LONGEST && random.chance(0.02) ? restyle(text, random) : text;
}

/** A world's name and its description or null, mostly in the same language. */
export function drawWorldTexts(random: Random): { name: string; description: string | null } {
  const language = pick(languagesOfWorlds, random);
  const other = pick(languagesOfWorlds, random);
  const name = say(language.worldName, random);
  const kind = random.unit();
  if (kind < 0.03) return { name, description: null };
  if (kind < 0.05) return { name, description: "" };
  if (kind < 0.07) return { name, description: name };
  const [first, second] = kind < 0.12 ? [other, language] : [language, other];
  return { name, description: drawDescription(first, second, random) };
}
