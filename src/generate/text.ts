/** Names and descriptions of generated rows: words of a language, as many as a drawn length says. */

import type { Random } from "../util/random.ts";
import { EMOJI, LANGUAGES, NUCLEI, ONSETS } from "./vocabulary.ts";

const listOf = (text: string): readonly string[] => text.split(/\s+/).filter(Boolean);

const languages = LANGUAGES.map(({ share, space = " ", words = "", ...texts }) => {
  const names = listOf(texts.names);
  return { share, space, names, words: [...listOf(words), ...names] };
});
type Language = (typeof languages)[number];

/** Each language, as often as its share says. */
const OF_USERS = languages.flatMap((language) => new Array<Language>(language.share.users).fill(language));
const OF_WORLDS = languages.flatMap((language) => new Array<Language>(language.share.worlds).fill(language));
const [emoji, onsets, nuclei] = [listOf(EMOJI), listOf(ONSETS), listOf(NUCLEI)];
const JOINTS = ["", " ", " ", "_", ".", "-"];
const ENDS = [".", ".", ".", "!", "…", "?"];
const LABELS = ["Thanks to", "Music", "Credits", "BGM", "→", "★"];
const SEPARATORS = [" ", "\n", "\n\n", " / "];

function pick<T>(choices: readonly T[], random: Random): T {
  return choices[random.below(choices.length)]!;
}

/** Early words are drawn more often, as in real text. */
function drawWord(words: readonly string[], random: Random): string {
  const unit = random.unit();
  return words[Math.floor(unit * (0.3 + 0.7 * unit) * words.length)]!;
}

function capitalize(word: string): string {
  const first = String.fromCodePoint(word.codePointAt(0)!);
  return first.toUpperCase() + word.slice(first.length);
}

/** A word that hardly any other text has. */
function coin(random: Random): string {
  let word = "";
  for (let left = 2 + random.below(3); left > 0; left--) word += pick(onsets, random) + pick(nuclei, random);
  return word;
}

/** Decorates a few names, and writes a few in other forms of the same letters. */
function decorate(name: string, random: Random): string {
  const unit = random.unit();
  if (unit < 0.03) return `${name} ${pick(emoji, random)}`;
  if (unit < 0.06) return name.normalize("NFD");
  // The full-width forms of printable ASCII.
  if (unit < 0.08) return name.replaceAll(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0));
  return unit < 0.09 ? name.toUpperCase() : name;
}

export function drawDisplayName(random: Random): string {
  const { space, names, words } = pick(OF_USERS, random);
  let name = drawWord(names, random);
  if (random.chance(0.75)) {
    const joint = space === "" ? "" : pick(JOINTS, random);
    name +=
      joint + (random.chance(0.2) ? coin(random) : drawWord(random.chance(0.5) ? names : words, random));
  }
  return decorate(random.chance(0.4) ? name + random.below(10_000) : name, random);
}

function drawSentence({ space, words }: Language, random: Random): string {
  const parts = Array.from({ length: 3 + random.below(7) }, () => drawWord(words, random));
  return capitalize(parts.join(space)) + (space === "" ? "。" : pick(ENDS, random));
}

/** Sentences, and mostly a list of names and an address, which hardly any other text has. */
function drawText(language: Language, sentences: number, random: Random): string {
  const parts = Array.from({ length: sentences }, () => drawSentence(language, random));
  const names = Array.from({ length: random.below(17) }, () => capitalize(coin(random)));
  if (names.length > 0) parts.push(`${pick(LABELS, random)}: ${names.join(", ")}`);
  if (random.chance(0.4)) parts.push(`https://${coin(random)}.example.com/${random.word()}`);
  return parts.join(pick(SEPARATORS, random));
}

/** A world's name and its description or null, mostly in the same language. */
export function drawWorldTexts(random: Random): { name: string; description: string | null } {
  const language = pick(OF_WORLDS, random);
  const parts = Array.from({ length: 1 + random.below(3) }, () =>
    capitalize(drawWord(language.words, random)),
  );
  if (random.chance(0.1)) parts.push(String(random.below(100)));
  const name = decorate(parts.join(language.space), random);
  const kind = random.unit();
  if (kind < 0.03) return { name, description: null };
  if (kind < 0.05) return { name, description: "" };
  if (kind < 0.07) return { name, description: name };
  const spoken = random.chance(0.1) ? pick(OF_WORLDS, random) : language;
  const unit = random.unit();
  return { name, description: drawText(spoken, 1 + Math.floor(32 * unit * unit * unit), random) };
}
