/**
 * Reads the lengths in a server's replies (RESP3) before the client does. The client makes an array as long as its first
 * line says before any element has arrived: with a few bytes a server could make it allocate gigabytes.
 */

/**
 * A line: `*` array, `~` set, `>` push, `%` map and `$` string tell a length, where -1 means null; `+ - : , _ #` are values
 * of one line. The commands that are sent are answered with no other types, and with nothing as long as two billion.
 */
const LINE = /^(?:([*~>%$])(-1|\d{0,9}|1\d{9})|_|#.|[-+:,].*)$/;
/** The beginning of a line, its carriage return included. */
const BEGUN = /^(?:[*~>%$](?:-1?|\d{0,9}|1\d{9})|_|#.?|[-+:,].*)\r?$/;

/** The shortest element, in bytes. */
const ITEM_BYTES = 3;

/**
 * Makes a scanner of one connection, to be given all of its bytes in order.
 *
 * @returns the scanner, which returns how many bytes at least are still to come by what was announced; Infinity when
 * something is no reply
 */
export function createReplyScanner(): (chunk: Buffer) => number {
  /** As much of a line as has come. */
  let line = "";
  /** Bytes of a string that are still to come, with its line end. */
  let skip = 0;
  /** Elements that are still to come. */
  let items = 0;
  let isBroken = false;

  function endLine(): void {
    const [whole, type, length = "0"] = LINE.exec(line.slice(0, -1)) ?? [];
    isBroken = whole === undefined || !line.endsWith("\r");
    line = "";
    if (length === "-1") return;
    if (type === "$") skip = Number(length) + 2;
    else items += Number(length) * (type === "%" ? 2 : 1);
  }

  return (chunk) => {
    const text = chunk.toString("latin1");
    for (let at = 0; at < text.length && !isBroken; ) {
      if (skip > 0) {
        const skipped = Math.min(skip, text.length - at);
        skip -= skipped;
        at += skipped;
        continue;
      }
      if (line === "") items = Math.max(0, items - 1);
      const end = text.indexOf("\n", at);
      line += text.slice(at, end < 0 ? text.length : end);
      at = end < 0 ? text.length : end + 1;
      if (end >= 0) endLine();
      else isBroken = !BEGUN.test(line);
    }
    return isBroken ? Number.POSITIVE_INFINITY : skip + ITEM_BYTES * items;
  };
}
