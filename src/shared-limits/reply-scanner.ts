/**
 * Reads the lengths in a server's replies (RESP3) before the client does. The client allocates an array of the length in
 * its first line before any element has arrived: with a few bytes a server could make it allocate gigabytes.
 */

/**
 * A line: `*` array, `~` set, `>` push, `%` map and `$` string give a length, where -1 means null; `+ - : , _ #` are values
 * of one line. Answers to the commands in use contain no other types, and no length of two billion.
 */
const LINE = /^(?:([*~>%$])(-1|\d{0,9}|1\d{9})|_|#.|[-+:,].*)$/;
/** The beginning of a line, its carriage return included. */
const BEGUN = /^(?:[*~>%$](?:-1?|\d{0,9}|1\d{9})|_|#.?|[-+:,].*)\r?$/;

/** The shortest element, in bytes. */
const ITEM_BYTES = 3;

export class ReplyScanner {
  #line = "";
  /** Missing bytes of a string, including its line end. */
  #skip = 0;
  /** Missing elements. */
  #items = 0;
  #isBroken = false;

  /** @returns minimum number of bytes that are announced but missing; Infinity if the input is no reply */
  scan(chunk: Buffer): number {
    const text = chunk.toString("latin1");
    for (let at = 0; at < text.length && !this.#isBroken; ) {
      const skipped = Math.min(this.#skip, text.length - at);
      this.#skip -= skipped;
      at += skipped === 0 ? this.#readLine(text.slice(at)) : skipped;
    }
    return this.#isBroken ? Number.POSITIVE_INFINITY : this.#skip + ITEM_BYTES * this.#items;
  }

  /** Reads a line, or the part that has arrived. @returns the length of that text */
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
