/** Names and descriptions in several languages, drawn from the grammars in `words/`. */

import { compileGrammar, type Draw, type Grammar } from "./grammar.ts";
import type { Random } from "./random.ts";
import { german } from "./words/de.ts";
import { english } from "./words/en.ts";
import { spanish } from "./words/es.ts";
import { japanese } from "./words/ja.ts";
import { korean } from "./words/ko.ts";
import { other } from "./words/other.ts";
import { chinese } from "./words/zh.ts";

const en = compileGrammar(english);
const ja = compileGrammar(japanese);
const ko = compileGrammar(korean);
const zh = compileGrammar(chinese);
const de = compileGrammar(german);
const es = compileGrammar(spanish);
const others = compileGrammar(other);

/** Moves printable ASCII to its full-width forms. */
function widen(text: string): string {
  return text.replaceAll(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0));
}

const romanNick: readonly Draw[] = [en.nick, en.nick, en.coined, ja.romaji, en.given];
const accented: readonly Draw[] = [es.person, de.person, en.person, es.given, de.family];
const anyNick: readonly Draw[] = [en.nick, ja.nick, ko.nick, zh.nick, de.nick, es.nick, en.given, ja.kana];

function oneOf(draws: readonly Draw[]): Draw {
  return (random) => draws[random.below(draws.length)](random);
}

function decorate(random: Random): string {
  const name = oneOf(anyNick)(random);
  const mark = others.decoration(random);
  const where = random.below(4);
  if (where === 0) return `${mark}${name}${mark}`;
  if (where === 1) return `${mark} ${name}`;
  return where === 2 ? `${name} ${mark}` : `${name}${mark}`;
}

/** Shares of a whole; they need not add up to anything. */
type Shares<T> = readonly (readonly [share: number, value: T])[];

/** A table from which a random number picks at once. */
function spread<T>(shares: Shares<T>): readonly T[] {
  return shares.flatMap(([share, value]) => new Array<T>(share).fill(value));
}

const displayNames = spread<Draw>([
  [250, en.nick],
  [150, en.person],
  [120, ja.nick],
  [90, ja.person],
  [35, ko.nick],
  [45, ko.person],
  [35, zh.nick],
  [45, zh.person],
  [20, de.nick],
  [40, de.person],
  [20, es.nick],
  [50, es.person],
  [25, others.person],
  [40, decorate],
  [4, (random) => `${others.decoration(random)}${others.joined(random)}`],
  [8, (random) => widen(oneOf(romanNick)(random))],
  [8, others.halfwidth],
  [8, (random) => oneOf(accented)(random).normalize("NFD")],
  [4, (random) => en.person(random).toUpperCase()],
  [2, others.single],
  [3, others.frequent],
]);

/** A user's name. */
export function drawDisplayName(random: Random): string {
  return displayNames[random.below(displayNames.length)](random);
}

/** How a language names and describes a world. */
interface Voice {
  readonly title: Draw;
  /** Each makes sentences of one shape. */
  readonly sentences: readonly Draw[];
  /** Between sentences. */
  readonly gap: string;
}

function voiceOf(
  grammar: Grammar & { sentence: readonly string[] },
  title: Draw,
  gap: string,
  mend?: (text: string) => string,
): Voice {
  const shapes = grammar.sentence.map((shape, at) => [`sentence ${at}`, [shape]] as const);
  const draws = compileGrammar<Grammar>({ ...grammar, ...Object.fromEntries(shapes) });
  const sentences = shapes.map(([name]) => draws[name]);
  return {
    title,
    gap,
    sentences: mend ? sentences.map((draw) => (random) => mend(draw(random))) : sentences,
  };
}

/** English writes "an" before a vowel. */
function mendEnglish(text: string): string {
  return text.replaceAll(/\b([Aa]) (?=[aeiou])/g, "$1n ");
}

/** Spanish draws "de" and "el" together. */
function mendSpanish(text: string): string {
  return text.replaceAll("de el ", "del ");
}

const voices = spread<Voice>([
  [48, voiceOf(english, en.title, " ", mendEnglish)],
  [20, voiceOf(japanese, ja.title, "")],
  [8, voiceOf(korean, ko.title, " ")],
  [9, voiceOf(chinese, zh.title, "")],
  [7, voiceOf(german, de.title, " ")],
  [8, voiceOf(spanish, es.title, " ", mendSpanish)],
]);

const SHORTEST = 60;
const LONGEST = 240;

/** Sentences up to a random length, in UTF-16 units, from {@link SHORTEST} to {@link LONGEST}. */
function drawProse(voice: Voice, random: Random): string {
  // The smaller of two: short descriptions are more common.
  const wanted = SHORTEST + Math.min(random.below(LONGEST - SHORTEST), random.below(LONGEST - SHORTEST));
  // No shape twice: a text that repeats itself looks made up.
  const left = [...voice.sentences];
  const say = (): string => left.splice(random.below(left.length), 1)[0](random);
  let prose = say();
  while (prose.length < wanted && left.length > 0) {
    const longer = `${prose}${random.chance(0.03) ? "\n" : voice.gap}${say()}`;
    if (longer.length <= LONGEST) prose = longer;
  }
  if (random.chance(0.12)) {
    const marked = `${prose} ${others.decoration(random)}`;
    if (marked.length <= LONGEST) prose = marked;
  }
  return prose;
}

/** What a world calls itself. */
export interface WorldTexts {
  readonly name: string;
  /** Null when there is none. */
  readonly description: string | null;
}

/** A world's name and description, mostly in the same language. */
export function drawWorldTexts(random: Random): WorldTexts {
  const voice = voices[random.below(voices.length)];
  let name = voice.title(random);
  const style = random.unit();
  if (style < 0.06) name = `${others.decoration(random)} ${name}`;
  else if (style < 0.1) name = `${name} ${others.decoration(random)}`;
  else if (style < 0.11) name = widen(name);
  else if (style < 0.12) name = name.normalize("NFD");
  else if (style < 0.15) name = name.toUpperCase();
  else if (style < 0.18) name = name.toLowerCase();

  const kind = random.unit();
  if (kind < 0.03) return { name, description: null };
  if (kind < 0.05) return { name, description: "" };
  if (kind < 0.07) return { name, description: name };
  const speaker = kind < 0.12 ? voices[random.below(voices.length)] : voice;
  return { name, description: drawProse(speaker, random) };
}
