/**
 * Reads along what a server sends, before the client does, as far as lengths go. The client makes an array as long as
 * its first line says, before anything of it has arrived: with a few bytes a server could have it take gigabytes.
 */

const CR = 13;
const LF = 10;
const MINUS = 45;
const ZERO = 48;
const UNDERSCORE = 95;
const HASH = 35;

/** How much is announced for each number behind a first byte: `*` array, `~` set, `>` push; `%` map. */
const ITEMS: Readonly<Record<number, number>> = { 42: 1, 126: 1, 62: 1, 37: 2 };
/** `$` */
const STRING = 36;
/** `+ - : , _ #`: what stands on one line. Nothing that is asked for is answered with any other type. */
const LINES: ReadonlySet<number> = new Set([43, MINUS, 58, 44, UNDERSCORE, HASH]);

/** No item is shorter. */
const ITEM_BYTES = 3;
const MOST = 2 ** 31;

/**
 * Makes what is given every byte of a connection, in order.
 *
 * @returns how many bytes are still to come at least, by what was announced; Infinity when it is no reply
 */
export function createReplyScanner(): (chunk: Uint8Array) => number {
  /** First byte of the line under way, 0 between two. */
  let type = 0;
  let length = 0;
  let number = 0;
  let isNegative = false;
  let isEnding = false;
  /** Bytes of a string, with its line end. */
  let skip = 0;
  let items = 0;
  let isBroken = false;

  function endLine(): void {
    const count = isNegative ? 0 : number;
    // What is null is the only thing shorter than nothing.
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

  function goOn(byte: number): void {
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
      else goOn(byte);
    }
    return isBroken ? Number.POSITIVE_INFINITY : skip + ITEM_BYTES * items;
  };
}
