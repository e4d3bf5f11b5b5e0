/** Symbols that every language uses: numbers, emoji, coined words. */

const digits = "7 1 2 3 0 9 5 8 4 6";

/** Emoji made of several code points, joined or not. */
const joined =
  "👩‍🚀 🧑‍🎤 👨‍👩‍👧 🏳️‍🌈 🐈‍⬛ ❤️‍🔥 👩🏽‍💻 🧙‍♂️ 🧜‍♀️ 🧝‍♀️ 🏴‍☠️ 👨‍🍳 🧑🏻‍🚀 🐻‍❄️ 👁️‍🗨️ 👩‍❤️‍👩 🇯🇵 🇰🇷 🇩🇪 🇲🇽 👍🏿 ✌🏻 7️⃣";

/** See the file's comment. */
export const common = {
  d: digits,
  dd: ["{d}{d}"],
  num: ["{d}", "{dd}", "{dd}", "{year}", "{d}{d}{d}", "{d}{d}{d}{d}", "{d}{d}{d}{d}{d}"],
  year: "2000 1999 2001 1998 2002 2003 1997 2004 1996 2005 1995 2006 1994 1993 2007 1992 1991 1990 1989 2008 1988 1985 1987 1986 2009 1984 1980 1983 1982 1981 1979 2010 1977 1975 2025 2026 2077 1970",
  few: "2 4 3 5 6 8",
  many: "16 20 8 10 12 24 30 32 40 64 80 50 60 15 25",
  hour: "21 20 22 19 18 23 17 15",
  emoji:
    "✨ 🌸 🔥 🎮 🌙 ❤️ 🎉 ⭐ 😂 🌟 🎵 🦊 🐱 😎 💫 🌈 👻 🐺 🍀 🎧 💜 🚀 🌊 🐉 🎨 🏝️ 🍜 🍵 🌌 👾 🐰 💀 🌿 ☕ 🦄 🎃 🌻 🐻 ❄️ 🌲 🍓 🤖 🐧 🏯 🎂 🦋 🐸 ⚔️ 🏰 🎸 🐼 💎 🍄 🌵 🏎️ 🛸 🪐 🦖 🍣 ⛩️ 🎹 🏔️ 🧊 🦀 🥑 🪩 🫧 🪼 🫠",
  joined,
  decoration: ["{emoji}", "{emoji}", "{emoji}", "{emoji}{emoji}", "{joined}"],
  // Coined words: a few thousand, each rare.
  on: "k m s r l t n v d z b h th sh y f p g j w br kr st tr ch dr gl x qu sk ph",
  nu: "a i o e u ai ia y ei oa ou ae io ee",
  co: "n r l s x th m k nd ss rd v sh lt z st rk q",
  coined: [
    "{on}{nu}{co}{nu}",
    "{on}{nu}{on}{nu}",
    "{on}{nu}{on}{nu}{co}",
    "{on}{nu}{co}",
    "{nu}{on}{nu}{co}",
    "{on}{nu}{on}{nu}{on}{nu}",
    "{on}{nu}{co}{nu}{on}",
  ],
} as const;
