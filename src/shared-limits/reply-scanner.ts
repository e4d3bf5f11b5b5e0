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

export class ReplyScanner {
  #line = "";
  /** Bytes of a string that are still to come, with its line end. */
  #skip = 0;
  /** Elements that are still to come. */
  #items = 0;
  #isBroken = false;

  /** @returns how many bytes at least are announced and still to come; Infinity when something is no reply */
  scan(chunk: Buffer): number {
    const text = chunk.toString("latin1");
    for (let at = 0; at < text.length && !this.#isBroken; ) {
      const skipped = Math.min(this.#skip, text.length - at);
      this.#skip -= skipped;
      at += skipped === 0 ? this.#readLine(text.slice(at)) : skipped;
    }
    return this.#isBroken ? Number.POSITIVE_INFINITY : this.#skip + ITEM_BYTES * this.#items;
  }

  /** Reads a line as far as it has come. @returns its length, or that of what has come */
  #readLine(text: string): number {
    if (this.#line === "") this.#items = Math.max(0, this.#items - 1);
    const end = text.indexOf("\n");
    this.#line += end < 0 ? text : text.slice(0, end);
    if (end >= 0) this.#endLine();
    else this.#isBroken = !BEGUN.test(this.#line);
    return end < 0 ? text.length : end + 1;
  }

  #endLine(): void {
    const [whole, type, length = "0"] = LINE.exec(this.#line.slice(0, -1)) ?? [];
    this.#isBroken = whole === undefined || !this.#line.endsWith("\r");
    this.#line = "";
    if (length === "-1") return;
    if (type === "$") this.#skip = Number(length) + 2;
    else this.#items += Number(length) * (type === "%" ? 2 : 1);
  }
}
