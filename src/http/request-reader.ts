/** Reads requests from a connection's bytes: each is its head, once the body that may follow has arrived and was dropped. */

import {
  endOfChunks,
  type Fields,
  faultOf,
  type Head,
  hasBody,
  MAX_HEAD_BYTES,
  type NoHead,
  readHead,
  skipEmptyLines,
} from "./head.ts";

export class RequestReader {
  readonly #maxHeadBytes: number;
  /** Bytes, as one-byte text, and the start of the next head. */
  #text = "";
  #at = 0;
  #fields: Fields | undefined;
  #head: Head | undefined;
  #bodyLeft = 0;

  constructor(maxHeadBytes = MAX_HEAD_BYTES) {
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** A head whose body has not arrived. */
  get head(): Head | undefined {
    return this.#head;
  }

  /** Number of bytes that were not read yet. */
  get left(): number {
    return this.#text.length - this.#at;
  }

  /** Whether nothing of another request has arrived. */
  get isAtEnd(): boolean {
    return this.#at === this.#text.length && this.#head === undefined;
  }

  add(chunk: Buffer): void {
    const text = chunk.toString("latin1");
    this.#text = this.#at === this.#text.length ? text : this.#text.slice(this.#at) + text;
    this.#at = 0;
  }

  /** Reads the next request. */
  next(): Head | NoHead {
    if (this.#head !== undefined) return this.#readBody(this.#head);
    this.#at = skipEmptyLines(this.#text, this.#at);
    const head = readHead(this.#text, this.#at, this.#fields, this.#maxHeadBytes);
    if (typeof head === "string") return head;
    this.#at = head.end;
    this.#fields = head.fields;
    if (!hasBody(head)) return head;
    // A client that expects a 100 gets its answer instead, and sends no body.
    if (faultOf(head) !== undefined || head.fields.expect !== undefined) return head;
    this.#bodyLeft = head.fields.bodyBytes;
    return this.#readBody(head);
  }

  /** Drops what has arrived of a body. @returns its head at its end */
  #readBody(head: Head): Head | NoHead {
    this.#head = head;
    if (head.fields.isCoded) {
      const end = endOfChunks(this.#text, this.#at);
      if (typeof end === "string") return end;
      this.#at = end;
    } else {
      const dropped = Math.min(this.#bodyLeft, this.left);
      this.#at += dropped;
      this.#bodyLeft -= dropped;
      if (this.#bodyLeft > 0) return "partial";
    }
    this.#head = undefined;
    return head;
  }

  /** Keeps the part of a head alone, as a copy: a slice would keep a long text in memory. */
  release(): void {
    if (this.left === 0) this.#text = "";
    else if (this.#at > 0) this.#text = Buffer.from(this.#text.slice(this.#at), "latin1").toString("latin1");
    this.#at = 0;
  }

  clear(): void {
    this.#text = "";
    this.#at = 0;
    this.#head = undefined;
  }
}
