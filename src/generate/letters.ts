/** Letters that are written to be seen: full-width, mathematical, circled, small capitals, and signs that look like others. */

import type { Random } from "../util/random.ts";

/** Moves printable ASCII to its full-width forms. */
export function widen(text: string): string {
  return text.replaceAll(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0));
}

/** First capital and first small letter of alphabets without gaps. */
const ALPHABETS = [
  [0x1d400, 0x1d41a],
  [0x1d4d0, 0x1d4ea],
  [0x1d56c, 0x1d586],
  [0x1d5d4, 0x1d5ee],
  [0x1d5d4, 0x1d5ee],
  [0x1d670, 0x1d68a],
  [0x24b6, 0x24d0],
] as const;
const SMALL_CAPITALS = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡxʏᴢ";

/** Writes ASCII letters in one of the alphabets that are there for mathematics or phonetics. */
export function restyle(text: string, random: Random): string {
  const style = random.below(ALPHABETS.length + 1);
  if (style === ALPHABETS.length)
    return text.replaceAll(/[a-z]/gi, (c) => SMALL_CAPITALS[c.toLowerCase().charCodeAt(0) - 97]!);
  const [capital, small] = ALPHABETS[style]!;
  return text.replaceAll(/[a-z]/gi, (c) => {
    const code = c.charCodeAt(0);
    return String.fromCodePoint(code < 97 ? code - 65 + capital : code - 97 + small);
  });
}

const LOOKALIKES: Readonly<Record<string, string>> = {
  ".": "․",
  ",": "‚",
  "/": "⁄",
  ":": "˸",
  "!": "ǃ",
  "?": "？",
  "[": "［",
  "]": "］",
  "(": "（",
  ")": "）",
  '"': "＂",
  "@": "＠",
  "#": "＃",
  "&": "＆",
};

/** Replaces signs by others that look like them, as platforms do that allow no addresses in texts. */
export function disguise(text: string): string {
  return text.replaceAll(/[.,/:!?[\]()"@#&]/g, (c) => LOOKALIKES[c]!);
}
