/**
 * What generated worlds are described by, beside what people wrote.
 *
 *     npx tsx bench/text.ts [--smoke] [--corpus FILE]… [--sizes 1000,100000] [--seed 1]
 *
 * Prints what the search of worlds has to index of a text: words as its index
 * sees them (folded, split at white space), those of them that are in no other
 * text, occurrences of trigrams in the distinct words (postings), code units and
 * bytes. How many words are in no other text depends on how many others there
 * are, so beside each corpus stand as many generated worlds. A corpus is what
 * the machine has (READMEs of packages, descriptions of Debian's packages), and
 * each FILE: JSON or NDJSON with objects that have a name and a description.
 */

import { createRandom } from "../src/generate/random.ts";
import { drawWorldTexts } from "../src/generate/text.ts";
import { fold } from "../src/search/fold.ts";
import { type Corpus, type Described, localCorpora, readCorpus } from "./support/corpus.ts";
import { readOptions } from "./support/options.ts";
import { fixed, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    corpus: { type: "string", multiple: true },
    sizes: { type: "string" },
    seed: { type: "string" },
  },
});
const sizes = (values.sizes ?? (values.smoke ? "1000" : "1000,10000,100000,250000")).split(",").map(Number);
const seed = Number(values.seed ?? 1);

const CJK = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/u;

/** Of a text, on the average. */
interface Measured {
  readonly words: number;
  readonly ownWords: number;
  readonly postings: number;
  readonly units: number;
  readonly bytes: number;
  /** Share of the texts with Chinese, Japanese or Korean. */
  readonly cjk: number;
  /** Share of the texts above 1,000 code units. */
  readonly long: number;
}

function measure(texts: readonly Described[]): Measured {
  const holders = new Map<string, number>();
  let [words, units, bytes, cjk, long] = [0, 0, 0, 0, 0];
  for (const { name, description } of texts) {
    const text = `${name} ${description}`;
    const folded = fold(text);
    const distinct = new Set(folded.split(/\s+/u).filter((word) => word !== ""));
    for (const word of distinct) holders.set(word, (holders.get(word) ?? 0) + 1);
    words += distinct.size;
    units += folded.length;
    bytes += Buffer.byteLength(text);
    if (CJK.test(text)) cjk++;
    if (text.length > 1000) long++;
  }
  let [own, postings] = [0, 0];
  for (const [word, many] of holders) {
    postings += word.length;
    if (many === 1) own++;
  }
  const each = (sum: number): number => sum / texts.length;
  return {
    words: each(words),
    ownWords: each(own),
    postings: each(postings),
    units: each(units),
    bytes: each(bytes),
    cjk: each(cjk),
    long: each(long),
  };
}

function generated(many: number): Corpus {
  const random = createRandom(seed, "bench text");
  const texts: Described[] = [];
  while (texts.length < many) {
    const { name, description } = drawWorldTexts(random);
    texts.push({ name, description: description ?? "" });
  }
  return { name: "generated", texts };
}

function row({ name, texts }: Corpus): string[] {
  const { words, ownWords, postings, units, bytes, cjk, long } = measure(texts);
  return [
    name,
    whole(texts.length),
    fixed(words, 1),
    fixed(ownWords, 1),
    whole(postings),
    whole(units),
    whole(bytes),
    `${whole(cjk * 100)} %`,
    `${whole(long * 100)} %`,
  ];
}

const HEAD = ["", "texts", "words", "own words", "postings", "units", "bytes", "CJK", "long"];
const corpora = [...localCorpora(), ...(values.corpus ?? []).map(readCorpus)];
console.log("Of a text (its name and its description), on the average:\n");
const beside = corpora.flatMap((corpus) => [row(corpus), row(generated(corpus.texts.length))]);
console.log(markdown(HEAD, [...beside, ...sizes.map((many) => row(generated(many)))]));
