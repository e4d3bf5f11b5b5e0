/**
 * Bodies of replies: text, or parts of packed bytes between two texts.
 *
 * Rows are packed as the bytes that are sent. As parts they need not be decoded
 * to a text and encoded again: whoever sends a body copies its bytes once, to
 * where they are sent from, and nothing that is sent later refers to the tables.
 */

/** Ranges of packed bytes, one behind the other. */
export interface Slices {
  readonly bytes: Buffer;
  /** Where each range begins, and where it ends: two numbers a range, in the order of the body. */
  readonly ranges: readonly number[];
  /** ASCII between two ranges, and behind the last one. */
  readonly between: string;
  readonly behind: string;
  /** Bytes of it all. */
  readonly length: number;
}

/** A body that is not put together yet. */
export interface Parts {
  /** Bytes of it all, as `length` of a one-byte text. */
  readonly length: number;
  /** ASCII in front. */
  readonly head: string;
  readonly slices: Slices;
  /** ASCII at the end. */
  readonly end: string;
}

/**
 * A body: its bytes as a one-byte ("latin1") string, char codes 0–255, one a
 * byte of the UTF-8 JSON text; or parts that make them. `length` is in bytes.
 */
export type Body = string | Parts;

/** All of some bytes. */
export function sliceAll(bytes: Buffer): Slices {
  return { bytes, ranges: [0, bytes.length], between: "", behind: "", length: bytes.length };
}

/**
 * From so many bytes on, `fill` copies. Up to Node 22.6 `copy` takes shared
 * memory byte by byte, which for a page is ten times as slow; for less than
 * this, `fill` takes as long to call.
 */
const LONG = 2048;

function copyRange(bytes: Buffer, from: number, to: number, target: Buffer, at: number): void {
  if (to - from < LONG) bytes.copy(target, at, from, to);
  else target.fill(new Uint8Array(bytes.buffer, bytes.byteOffset + from, to - from), at, at + to - from);
}

/**
 * Writes bytes one behind the other.
 *
 * @param target has room for them
 * @param at where they begin
 * @returns where they end
 */
export function copySlices(slices: Slices, target: Buffer, at: number): number {
  const { bytes, ranges, between, behind } = slices;
  let place = at;
  for (let index = 0; index < ranges.length; index += 2) {
    const from = ranges[index]!;
    const to = ranges[index + 1]!;
    // It has a char or two; a call would cost more than they do.
    for (let char = 0; index > 0 && char < between.length; char++) target[place++] = between.charCodeAt(char);
    copyRange(bytes, from, to, target, place);
    place += to - from;
  }
  return place + target.write(behind, place, "latin1");
}

/**
 * Writes the bytes of a body.
 *
 * @param target has room for them
 * @param at where they begin
 * @returns where they end
 */
export function copyBody(body: Body, target: Buffer, at: number): number {
  if (typeof body === "string") return at + target.write(body, at, "latin1");
  const { head, slices, end } = body;
  const place = copySlices(slices, target, at + target.write(head, at, "latin1"));
  return place + target.write(end, place, "latin1");
}

/** The bytes of a body, in memory of their own. */
export function bodyBytes(body: Body): Buffer<ArrayBuffer> {
  const bytes = Buffer.allocUnsafe(body.length);
  copyBody(body, bytes, 0);
  return bytes;
}

/** A body as one-byte text. */
export function bodyText(body: Body): string {
  return typeof body === "string" ? body : bodyBytes(body).toString("latin1");
}
