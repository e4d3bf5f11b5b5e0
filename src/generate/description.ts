/**
 * Descriptions as people write them: from a word to a page, of sentences in one
 * language or two, with addresses, credits and what changed, in lines with
 * ornaments or in one long line.
 */

import type { Random } from "../util/random.ts";
import type { Draw } from "./grammar.ts";
import { disguise, restyle, widen } from "./letters.ts";
import { drawAddress, drawId, drawExtra as extra } from "./own-words.ts";
import { frames } from "./words/extras.ts";

/** How a language describes a world. */
export interface Voice {
  readonly title: Draw;
  /** Each makes sentences of one shape. */
  readonly sentences: readonly Draw[];
  /** Between sentences. */
  readonly gap: string;
  /** In front of addresses and names. */
  readonly labels: readonly string[];
}

/** Most UTF-16 code units of a description. */
const LONGEST = 2000;

/** Code units of the longest separator of parts: " / ". */
const LONGEST_SEPARATOR = 3;

/** A heap of parts, and how much of them there is. */
interface Draft {
  readonly parts: string[];
  units: number;
}

function add(draft: Draft, part: string): void {
  const units = part.length + LONGEST_SEPARATOR;
  if (draft.units + units > LONGEST) return;
  draft.parts.push(part);
  draft.units += units;
}

/** Now and then two letters change places: a misspelt word is one of its own. */
function mistype(sentence: string, random: Random): string {
  const at = random.below(sentence.length - 1);
  const two = sentence.slice(at, at + 2);
  return /^\p{L}{2}$/u.test(two)
    ? sentence.slice(0, at) + two[1] + two[0] + sentence.slice(at + 2)
    : sentence;
}

function sentence(voice: Voice, shape: number, random: Random): string {
  const text = voice.sentences[shape]!(random);
  return random.chance(0.08) ? mistype(text, random) : text;
}

function anySentence(voice: Voice, random: Random): string {
  return sentence(voice, random.below(voice.sentences.length), random);
}

/** Primes above any language's number of shapes: by steps of one of them every shape comes once. */
const STEPS = [37, 41, 43, 47, 53, 59];

/** Sentences of about so many code units. */
function prose(voice: Voice, wanted: number, random: Random): string {
  // Some put no sentence on the line of another, and in scripts without spaces that makes a word of each.
  const gap = random.chance(0.3) ? (random.chance(0.6) ? "\n" : " ") : voice.gap;
  // No shape twice: a text that repeats itself looks made up.
  const shapes = voice.sentences.length;
  let shape = random.below(shapes);
  const step = STEPS[random.below(STEPS.length)]!;
  let text = sentence(voice, shape, random);
  for (let more = 1; text.length < wanted && more < shapes; more++) {
    shape = (shape + step) % shapes;
    text += gap + sentence(voice, shape, random);
  }
  return text;
}

function label(voice: Voice, random: Random): string {
  return voice.labels[random.below(voice.labels.length)]!;
}

/** A line that stands for itself: an address, a handle, a song, an id, names, hashtags. */
function mention(voice: Voice, random: Random): string {
  const kind = random.below(24);
  if (kind < 6) return label(voice, random) + drawAddress(random);
  if (kind < 10) return label(voice, random) + extra.handle(random);
  if (kind < 12) return `${extra.handle(random)} ${extra.handle(random)}`;
  if (kind < 15) return label(voice, random) + extra.song(random);
  if (kind < 17) return drawId(random);
  if (kind < 21) {
    let names = label(voice, random) + extra.proper(random);
    for (let more = 1 + random.below(5); more > 0; more--) names += `, ${extra.proper(random)}`;
    return names;
  }
  let tags = extra.tag(random);
  for (let more = random.below(3); more > 0; more--) tags += ` ${extra.tag(random)}`;
  return tags;
}

/** What stands above a section. */
function heading(voice: Voice, random: Random): string {
  const words = random.chance(0.5) ? extra.heading(random) : voice.title(random);
  const style = random.below(8);
  if (style < 3) {
    const [before, behind] = frames[random.below(frames.length)]!;
    return before + words + behind;
  }
  if (style === 3) return restyle(words, random);
  if (style === 4) return widen(words);
  if (style === 5) return `${words}\n${extra.bar(random)}`;
  if (style === 6) return `${extra.bar(random)}\n${words}`;
  return words.toUpperCase();
}

/** A heading and what is listed below it. */
function section(draft: Draft, voice: Voice, random: Random): void {
  add(draft, heading(voice, random));
  const bullet = random.chance(0.7) ? extra.bullet(random) : "";
  const kind = random.below(4);
  for (let lines = 2 + random.below(4); lines > 0; lines--) {
    let line: string;
    if (kind === 0) line = mention(voice, random);
    else if (kind === 1)
      line = `${extra.date(random)} ${extra.version(random)} ${anySentence(voice, random)}`;
    else if (kind === 2) line = anySentence(voice, random);
    else line = `${extra.proper(random)}: ${anySentence(voice, random)}`;
    add(draft, bullet + line);
  }
}

/** How long the prose is: many are short, few are long. */
function drawLength(random: Random): number {
  const unit = random.unit();
  return 20 + Math.floor(260 * unit * unit);
}

/**
 * A description.
 *
 * @param other the voice of a second language
 */
export function drawDescription(voice: Voice, other: Voice, random: Random): string {
  const draft: Draft = { parts: [], units: 0 };
  const kind = random.unit();
  if (kind < 0.1) {
    // A few words, and no more.
    const word = random.below(4);
    if (word === 0) return extra.version(random);
    if (word === 1) return extra.kaomoji(random);
    return word === 2 ? voice.title(random) : anySentence(voice, random);
  }
  add(draft, prose(voice, drawLength(random), random));
  if (random.chance(0.25)) add(draft, prose(other, drawLength(random), random));
  const isLong = kind > 0.93;
  if (random.chance(0.1)) add(draft, extra.kaomoji(random));
  if (random.chance(0.12)) add(draft, extra.decoration(random));
  if (random.chance(0.2)) add(draft, `${extra.date(random)} ${extra.version(random)}`);
  if (random.chance(0.15)) add(draft, extra.spec(random));
  if (random.chance(0.15)) section(draft, voice, random);
  if (random.chance(0.08)) add(draft, extra.bar(random));
  if (kind > 0.2) for (let left = 1 + random.below(7); left > 0; left--) add(draft, mention(voice, random));
  if (isLong) {
    for (let left = 2 + random.below(5); left > 0; left--) {
      section(draft, random.chance(0.3) ? other : voice, random);
      if (random.chance(0.3)) add(draft, prose(voice, 300, random));
    }
  }
  const separators = random.unit();
  const text = draft.parts.join(
    separators < 0.45 ? "\n" : separators < 0.8 ? " " : separators < 0.9 ? " / " : "\n\n",
  );
  if (random.chance(0.1)) return disguise(text);
  // Such letters take two code units each.
  return text.length * 2 <= LONGEST && random.chance(0.02) ? restyle(text, random) : text;
}
