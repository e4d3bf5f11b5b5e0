/** Texts that are hard to search, drawn with a fixed seed: addresses, hashes, handles, CJK sentences and common words. */

import { createRandom, type Random } from "../../src/util/random.ts";

const COMMON =
  "the a of and to in is you that it with for world come explore hang out party chill game horror avatar music night friends club".split(
    " ",
  );
const RARER =
  "lighthouse cathedral submarine orchard telescope marmalade quicksilver hurricane labyrinth porcelain".split(
    " ",
  );
const CJK =
  "東京の夜空を見上げる世界へようこそ友達と遊ぶ場所です静かな海と森がある音楽好きなら誰でも歓迎初心者も大丈夫한국어월드에오신것을환영합니다안녕하세요欢迎来到我们的世界一起玩吧";
const HOSTS = ["worlds.example.com", "www.example.org", "cdn.worlds.example.com", "social.example.net"];
const PATHS = ["/home/world/wrld_", "/w/", "/watch?v=", "/file/d/"];
const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";

function signs(random: Random, alphabet: string, many: number): string {
  let text = "";
  for (let at = 0; at < many; at++) text += alphabet[random.below(alphabet.length)];
  return text;
}

function hash(random: Random): string {
  return signs(random, "0123456789abcdef", random.chance(0.5) ? 40 : 32);
}

function address(random: Random): string {
  const [host, path] = random.chance(0.8)
    ? [HOSTS[0], PATHS[0]]
    : [HOSTS[random.below(HOSTS.length)], PATHS[random.below(PATHS.length)]];
  const id = path === PATHS[0] ? hash(random) : signs(random, ALPHABET, 11);
  return `https://${host}${path}${id}${random.chance(0.7) ? "?ref=description&lang=en" : ""}`;
}

function sentence(random: Random): string {
  const words: string[] = [];
  for (let left = 3 + random.below(12); left > 0; left--) {
    words.push((random.chance(0.9) ? COMMON : RARER)[random.below(random.chance(0.7) ? 10 : 23)] ?? "world");
  }
  return words.join(" ");
}

function cjk(random: Random): string {
  let text = "";
  for (let left = 4 + random.below(20); left > 0; left--) text += CJK[random.below(CJK.length)];
  return text;
}

/** Texts of the rows of a table. */
export interface HardTexts {
  readonly names: readonly string[];
  /** By the number of a name. */
  readonly descriptions: readonly string[];
}

/** Names of worlds and what they are described by: one address each, and more. */
export function drawWorlds(worlds: number, seed = 1): HardTexts {
  const random = createRandom(seed, "hard worlds");
  const names: string[] = [];
  const descriptions: string[] = [];
  for (let at = 0; at < worlds; at++) {
    const kind = random.below(10);
    names.push(
      kind < 6
        ? `World ${at}`
        : kind < 8
          ? cjk(random)
          : kind < 9
            ? sentence(random)
            : `@${signs(random, ALPHABET, 12)}`,
    );
    const parts = [sentence(random), address(random)];
    if (random.chance(0.5)) parts.push(`sha1:${hash(random)}`);
    if (random.chance(0.5)) parts.push(`@user_${signs(random, ALPHABET, 8)}`);
    if (random.chance(0.5)) parts.push(cjk(random));
    descriptions.push(parts.join(" "));
  }
  return { names, descriptions };
}

/** Names of users: mostly of few kinds, so that very many hold the same run. */
export function drawUsers(users: number, seed = 1): string[] {
  const random = createRandom(seed, "hard users");
  return Array.from({ length: users }, (_, at) => {
    const kind = random.below(10);
    if (kind < 4) return `Player_${at}`;
    if (kind < 5) return `xX_${signs(random, ALPHABET, 6)}_Xx`;
    if (kind < 6) return cjk(random).slice(0, 8);
    if (kind < 7) return "Guest";
    if (kind < 8) return `${"a".repeat(random.below(30))}${at % 100}`;
    if (kind < 9) return `https://social.example.net/profile/${signs(random, ALPHABET, 8)}`;
    return sentence(random).slice(0, 24);
  });
}
