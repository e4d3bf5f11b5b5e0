/** Bodies of replies: text, or parts of packed bytes between texts. Senders copy the bytes: nothing sent refers to the tables. */

import { isNodeBefore } from "../install/runtime.mjs";

export interface Slices {
  readonly bytes: Buffer;
  /** Start and end of each range, in the order of the body. */
  readonly ranges: readonly number[];
  /** ASCII between two ranges, and after the last one. */
  readonly between: string;
  readonly behind: string;
  /** Bytes in total. */
  readonly length: number;
}

export interface Parts {
  /** Bytes in total, as `length` of a one-byte text. */
  readonly length: number;
  /** ASCII in front. */
  readonly head: string;
  readonly slices: Slices;
  /** ASCII at the end. */
  readonly end: string;
  /** Whether it is one whole range that stays in memory, so that it may be sent without a copy; false when absent. */
  readonly isShared?: true;
}

/** A body: a one-byte ("latin1") string with a char code for each byte of the UTF-8 JSON text, or parts. `length` is in bytes. */
export type Body = string | Parts;

export function sliceAll(bytes: Buffer): Slices {
  return { bytes, ranges: [0, bytes.length], between: "", behind: "", length: bytes.length };
}

/**
 * Node before 22.8 copies shared memory byte by byte, ten times slower. There `fill` copies long ranges, and short ones become text.
 */
const COPIES_BYTEWISE = isNodeBefore(process.versions, "22.8");
const LONG_BYTES = 2048;

/** Whether ranges are so short on average that they cost less as text. */
function areShort({ ranges, length }: Slices): boolean {
  return COPIES_BYTEWISE && length < (LONG_BYTES * ranges.length) / 2;
}

function joinAsText({ bytes, ranges, between, behind }: Slices): string {
  let text = "";
  for (let index = 0; index < ranges.length; index += 2) {
    if (index > 0) text += between;
    text += bytes.toString("latin1", ranges[index]!, ranges[index + 1]!);
  }
  return text + behind;
}

function copyRange(bytes: Buffer, from: number, to: number, target: Buffer, at: number): void {
  if (!COPIES_BYTEWISE) bytes.copy(target, at, from, to);
  else target.fill(new Uint8Array(bytes.buffer, bytes.byteOffset + from, to - from), at, at + to - from);
}

/** Writes the ranges into a target that has room for them. @param end ASCII to write after them */
export function copySlices(slices: Slices, target: Buffer, at: number, end = ""): void {
  const { bytes, ranges, between, behind } = slices;
  if (areShort(slices)) {
    target.write(joinAsText(slices) + end, at, "latin1");
    return;
  }
  let place = at;
  for (let index = 0; index < ranges.length; index += 2) {
    const from = ranges[index]!;
    const to = ranges[index + 1]!;
    // `between` has a char or two; a call would cost more.
    for (let char = 0; index > 0 && char < between.length; char++) target[place++] = between.charCodeAt(char);
    copyRange(bytes, from, to, target, place);
    place += to - from;
  }
  target.write(behind + end, place, "latin1");
}

/** Writes a body into a target that has room for it. @param before one-byte text to write in front of it */
export function copyBody(body: Body, target: Buffer, before = ""): void {
  if (typeof body === "string") {
    target.write(before + body, "latin1");
    return;
  }
  const { head, slices, end } = body;
  copySlices(slices, target, target.write(before + head, "latin1"), end);
}

/** Whether a body is an ASCII text, which is its own UTF-8 and need not be copied. */
export function isAscii(body: Body): body is string {
  return typeof body === "string" && Buffer.byteLength(body) === body.length;
}

export function bodyBytes(body: Body): Buffer<ArrayBuffer> {
  const bytes = Buffer.allocUnsafe(body.length);
  copyBody(body, bytes);
  return bytes;
}

export function bodyText(body: Body): string {
  return typeof body === "string" ? body : body.head + joinAsText(body.slices) + body.end;
}

/** Whether parts cost less as text than as bytes; node copies longer texts once more. */
export function areCheaperAsText({ slices, length }: Parts): boolean {
  return length < 12_288 && areShort(slices);
}
