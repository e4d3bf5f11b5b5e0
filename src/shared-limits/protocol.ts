/** The protocol of counter servers, RESP3, as far as the commands in use need it. */

/** The server refused a command. */
export class ReplyError extends Error {
  override name = "ReplyError";
}

/** A command as it is sent. */
export function commandText(words: readonly string[]): string {
  const texts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${words.length}\r\n${texts.join("")}`;
}

/** A line: a text, an error, a number, null, or the length of a text, an array or a map. */
const LINE = /^(?:[+-].*|:-?\d+|_|[$*%]\d{1,9})$/;

/** Deepest nesting of arrays; replies to the commands in use have five levels. */
const MOST_DEPTH = 8;

/** Reads replies from bytes that come in any pieces. Nothing is allocated for what is announced before it has come. */
export class ReplyReader {
  #text = "";
  /** Length of the part of the text that is read. */
  #at = 0;
  #reading = this.#reply(0);
  /** Bytes after the last whole reply, read or not. */
  size = 0;

  /**
   * Takes bytes. @returns the replies that are whole now: texts, numbers, null, a {@link ReplyError}, or arrays of these; a
   * map is an array of its names and values @throws if the bytes are no reply
   */
  read(bytes: Buffer): unknown[] {
    this.#text = this.#text.slice(this.#at) + bytes.toString("latin1");
    this.#at = 0;
    this.size += bytes.length;
    const replies: unknown[] = [];
    for (let step = this.#reading.next(); step.done; step = this.#reading.next()) {
      replies.push(step.value);
      this.size = this.#text.length - this.#at;
      this.#reading = this.#reply(0);
    }
    return replies;
  }

  /** Yields when it needs more bytes, as the following do. */
  *#reply(depth: number): Generator<undefined, unknown> {
    const line = yield* this.#line();
    if (depth > MOST_DEPTH || !LINE.test(line)) throw new Error("the server answered what is no reply");
    const type = line[0];
    const rest = line.slice(1);
    if (type === "+") return rest;
    if (type === "-") return new ReplyError(Buffer.from(rest, "latin1").toString());
    if (type === "_") return null;
    if (type === ":") return Number(rest);
    if (type === "$") return yield* this.#part(Number(rest));
    const items: unknown[] = [];
    const count = Number(rest) * (type === "%" ? 2 : 1);
    while (items.length < count) items.push(yield* this.#reply(depth + 1));
    return items;
  }

  *#line(): Generator<undefined, string> {
    for (;;) {
      const end = this.#text.indexOf("\r\n", this.#at);
      if (end >= 0) return yield* this.#part(end - this.#at);
      yield;
    }
  }

  /** A text of so many bytes, and the end of its line. */
  *#part(length: number): Generator<undefined, string> {
    while (this.#text.length < this.#at + length + 2) yield;
    const from = this.#at;
    this.#at += length + 2;
    return this.#text.slice(from, from + length);
  }
}
