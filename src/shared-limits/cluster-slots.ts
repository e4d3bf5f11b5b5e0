/** Maps keys to the servers of a cluster: hash slots, by the cluster's specification. */

export const SLOTS = 16_384;

const POLYNOMIAL = 0x1021;

/** The slot of a key: CRC-16 (XMODEM) of the text in its first braces, else of the whole key. The client does not export it. */
export function slotOfKey(key: string): number {
  const [, inBraces = ""] = /^[^{]*\{([^}]*)\}/.exec(key) ?? [];
  let crc = 0;
  for (const byte of Buffer.from(inBraces || key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
    crc &= 0xffff;
  }
  return crc % SLOTS;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value !== "?";
}

/** Reads the answer to CLUSTER SLOTS: ranges and the servers that hold them. @param host of the server that answered, which may omit its own name */
export function readSlots(answer: unknown, host: string) {
  if (!Array.isArray(answer)) return [];
  return answer.flatMap((row: unknown) => {
    if (!Array.isArray(row) || !Array.isArray(row[2])) return [];
    const [from, to, master] = row as [unknown, unknown, unknown[]];
    const range = { from: Number(from), to: Number(to), port: Number(master[1]) };
    const isRange = range.from >= 0 && range.from <= range.to && range.to < SLOTS && range.port > 0;
    return isRange ? [{ ...range, host: isText(master[0]) ? master[0] : host }] : [];
  });
}
