/** Which server of a cluster holds which keys: hash slots, as the cluster's specification says. */

/** Slots that keys are spread over. */
export const SLOTS = 16_384;

const POLYNOMIAL = 0x1021;

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 8;
  for (let bit = 0; bit < 8; bit++) value = value & 0x8000 ? (value << 1) ^ POLYNOMIAL : value << 1;
  return value;
});

/** The part of a key that decides where it lies: what stands in its first braces, if anything does. */
function hashed(key: string): string {
  const open = key.indexOf("{");
  if (open < 0) return key;
  const close = key.indexOf("}", open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

/** The slot of a key: CRC-16 (XMODEM) of what is hashed. */
export function slotOfKey(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(hashed(key))) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte]!;
  return crc % SLOTS;
}

/** A server, and the slots that it holds. */
export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly host: string;
  readonly port: number;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value !== "?";
}

/**
 * Reads the answer to CLUSTER SLOTS.
 *
 * @param host of the server that answered, which need not name itself
 */
export function readSlots(answer: unknown, host: string): SlotRange[] {
  if (!Array.isArray(answer)) return [];
  return answer.flatMap((row: unknown) => {
    if (!Array.isArray(row) || !Array.isArray(row[2])) return [];
    const [from, to, master] = row as [unknown, unknown, unknown[]];
    const range = { from: Number(from), to: Number(to), port: Number(master[1]) };
    const isRange = range.from >= 0 && range.from <= range.to && range.to < SLOTS && range.port > 0;
    return isRange ? [{ ...range, host: isText(master[0]) ? master[0] : host }] : [];
  });
}
