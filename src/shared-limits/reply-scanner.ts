/**
 * Reads the lengths in a server's replies (RESP3) before the client does. The client makes an array as long as its first
 * line says before any element has arrived: with a few bytes a server could make it allocate gigabytes.
 */

const CR = 13;
const LF = 10;
const MINUS = 45;
const ZERO = 48;
const UNDERSCORE = 95;
const HASH = 35;

/** Elements that a length counts, by type: one each for `*` array, `~` set and `>` push, two for `%` map. */
const ITEMS: Readonly<Record<number, number>> = { 42: 1, 126: 1, 62: 1, 37: 2 };
/** `$`: a string, whose length is announced. */
const STRING = 36;
/** Types of one line: `+ - : , _ #`. The commands that are sent are answered with no other types. */
const LINES: ReadonlySet<number> = new Set([43, MINUS, 58, 44, UNDERSCORE, HASH]);

/** The shortest element, in bytes. */
const ITEM_BYTES = 3;
/** The largest length. */
const MOST = 2 ** 31;

/**
 * Makes a scanner of one connection, to be given all of its bytes in order.
 *
 * @returns the scanner, which returns how many bytes at least are still to come by what was announced; Infinity when
 * something is no reply
 */
export function createReplyScanner(): (chunk: Uint8Array) => number {
  /** Type of the current line; 0 between lines. */
  let type = 0;
  let length = 0;
  let number = 0;
  let isNegative = false;
  let isEnding = false;
  /** Bytes of a string that are still to come, with its line end. */
  let skip = 0;
  /** Elements that are still to come. */
  let items = 0;
  let isBroken = false;

  function endLine(): void {
    const count = isNegative ? 0 : number;
    // A length of -1 means null; there is no other negative one.
    isBroken ||= isNegative && (number !== 1 || length !== 2);
    const each = ITEMS[type];
    if (each !== undefined) items += each * count;
    else if (type === STRING && !isNegative) skip = count + 2;
    else if (type === UNDERSCORE) isBroken ||= length !== 0;
    else if (type === HASH) isBroken ||= length !== 1;
    type = 0;
  }

  function begin(byte: number): void {
    isBroken ||= ITEMS[byte] === undefined && byte !== STRING && !LINES.has(byte);
    type = byte;
    length = 0;
    number = 0;
    isNegative = false;
    items = Math.max(0, items - 1);
  }

  function continueLine(byte: number): void {
    length++;
    if (LINES.has(type)) return;
    if (byte === MINUS && length === 1) {
      isNegative = true;
      return;
    }
    number = number * 10 + byte - ZERO;
    isBroken ||= byte < ZERO || byte > ZERO + 9 || number > MOST;
  }

  return (chunk) => {
    for (let at = 0; at < chunk.length && !isBroken; at++) {
      if (skip > 0) {
        const skipped = Math.min(skip, chunk.length - at);
        skip -= skipped;
        at += skipped - 1;
        continue;
      }
      const byte = chunk[at]!;
      if (isEnding) {
        isBroken = byte !== LF;
        isEnding = false;
        endLine();
      } else if (type === 0) begin(byte);
      else if (byte === CR) isEnding = true;
      else continueLine(byte);
    }
    return isBroken ? Number.POSITIVE_INFINITY : skip + ITEM_BYTES * items;
  };
}
