/** Names and descriptions in several languages, drawn from the grammars in `words/`. */

import type { Random } from "../util/random.ts";
import { drawDescription, type Voice } from "./description.ts";
import { compileGrammar, type Draw, type Grammar } from "./grammar.ts";
import { restyle, widen } from "./letters.ts";
import { german } from "./words/de.ts";
import { english } from "./words/en.ts";
import { spanish } from "./words/es.ts";
import { labels } from "./words/extras.ts";
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
  [12, (random) => restyle(oneOf(romanNick)(random), random)],
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

function voiceOf(
  grammar: Grammar & { sentence: readonly string[] },
  language: keyof typeof labels,
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
    labels: labels[language].split("|"),
    sentences: mend ? sentences.map((draw) => (random) => mend(draw(random))) : sentences,
  };
}

/** Whether a vowel follows the article is known only when both are drawn. */
function mendArticle(text: string, at: number): string {
  return "aeiou".includes(text[at + 2] ?? "-") ? `${text.slice(0, at + 1)}n${text.slice(at + 1)}` : text;
}

/** English writes "an" before a vowel. */
function mendEnglish(text: string): string {
  let mended = text;
  for (let at = mended.indexOf("a "); at >= 0; at = mended.indexOf("a ", at + 1)) {
    if (at === 0 || mended[at - 1] === " ") mended = mendArticle(mended, at);
  }
  return mended.startsWith("A ") ? mendArticle(mended, 0) : mended;
}

/** Spanish draws "de" and "el" together. */
function mendSpanish(text: string): string {
  return text.replaceAll("de el ", "del ");
}

const voices = spread<Voice>([
  [48, voiceOf(english, "en", en.title, " ", mendEnglish)],
  [20, voiceOf(japanese, "ja", ja.title, "")],
  [8, voiceOf(korean, "ko", ko.title, " ")],
  [9, voiceOf(chinese, "zh", zh.title, "")],
  [7, voiceOf(german, "de", de.title, " ")],
  [8, voiceOf(spanish, "es", es.title, " ", mendSpanish)],
]);

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
  else if (style < 0.2) name = restyle(name, random);
  else if (style < 0.24) name = `${name} ${voices[random.below(voices.length)].title(random)}`;

  const kind = random.unit();
  if (kind < 0.03) return { name, description: null };
  if (kind < 0.05) return { name, description: "" };
  if (kind < 0.07) return { name, description: name };
  const other = voices[random.below(voices.length)];
  return {
    name,
    description: kind < 0.12 ? drawDescription(other, voice, random) : drawDescription(voice, other, random),
  };
}
