/**
 * Rows that a scan is enough for: their bytes become the served JSON without
 * being parsed or encoded. Whatever is unusual about a row, an error above all,
 * is left to `parsed.ts`; both make the same of every row that both can take.
 */

import type { RowFile } from "../model/model.ts";
import { parseServedTime, TIME_BYTES } from "../model/time.ts";
import { parseServedUuid } from "../model/uuid.ts";
import type { TextColumn } from "../store/bytes.ts";
import type { RowChecker } from "./rows.ts";
import { ABSENT, COUNT, ESCAPED, FALSE, NULL, PLAIN, RowScanner, TRUE } from "./scan.ts";
import { type Stage, stageInstance, stageStats, stageUser, stageWorld } from "./stage.ts";

/**
 * Stages the line that begins at `from`, if it can.
 *
 * @returns the place behind the line's end, or -1 when nothing was staged and the line is to be parsed
 */
export type StageScanned = (bytes: Uint8Array, from: number, line: number) => number;

/** A part of a served row: bytes that always stand there, and the field behind them. */
interface Part {
  readonly before: Uint8Array;
  readonly field: number;
  /** Nothing but the field's name stands in `before`, so a source that leaves the same room says the same. */
  readonly isName: boolean;
}

/** How a row is served: parts, then the end. Every field is a string. */
interface Layout {
  readonly parts: readonly Part[];
  readonly end: Uint8Array;
  /** Bytes beside the fields. */
  readonly bytes: number;
}

/** @param template the served JSON with `$field` in place of each string */
function layoutOf(template: string, fields: readonly string[]): Layout {
  const pieces = template.split(/\$(\w+)/);
  const parts: Part[] = [];
  for (let at = 0; at + 1 < pieces.length; at += 2) {
    const name = pieces[at + 1]!;
    const before = pieces[at]!;
    const isName = before === `${at === 0 ? "{" : '",'}"${name}":"`;
    parts.push({ before: Buffer.from(before), field: fields.indexOf(name), isName });
  }
  return { parts, end: Buffer.from(pieces.at(-1)!), bytes: template.length };
}

/** No place in a source. */
const NOWHERE = -0x4000_0000;

/**
 * Puts the served row together from its source. Where both say the same the
 * bytes are taken in one run, which is most of a row in an export of our order.
 */
function appendRow(
  texts: TextColumn,
  bytes: Uint8Array,
  from: number,
  to: number,
  scan: RowScanner,
  layout: Layout,
): void {
  const { kinds, starts, ends } = scan;
  texts.beginText(to - from + layout.bytes);
  let runFrom = from;
  let runTo = from;
  for (const { before, field, isName } of layout.parts) {
    const isString = isText(kinds[field]!);
    if (isString && isName && starts[field]! - runTo === before.length) {
      runTo = ends[field]!;
      continue;
    }
    texts.append(bytes, runFrom, runTo);
    texts.append(before, 0, before.length);
    // Null and absence mean an empty text.
    runFrom = isString ? starts[field]! : NOWHERE;
    runTo = isString ? ends[field]! : NOWHERE;
  }
  texts.append(bytes, runFrom, runTo);
  texts.append(layout.end, 0, layout.end.length);
  texts.endText();
}

function isText(kind: number): boolean {
  return kind === PLAIN || kind === ESCAPED;
}

function isOptionalText(kind: number): boolean {
  return isText(kind) || kind === NULL || kind === ABSENT;
}

function isBoolean(kind: number): boolean {
  return kind === TRUE || kind === FALSE;
}

function uuidOf(scan: RowScanner, field: number, bytes: Uint8Array, words: Uint32Array): boolean {
  return scan.kinds[field] === PLAIN && parseServedUuid(bytes, scan.starts[field]!, scan.ends[field]!, words);
}

/** Milliseconds, or NaN. */
function timeOf(scan: RowScanner, field: number, bytes: Uint8Array): number {
  if (scan.kinds[field] !== PLAIN) return Number.NaN;
  return parseServedTime(bytes, scan.starts[field]!, scan.ends[field]!);
}

const ID_BYTES = 36;
/** Ids and times are taken in the served form alone, and {@link uuidOf} and {@link timeOf} look at each of their bytes. */
const CHECKED_LENGTHS = {
  id: ID_BYTES,
  ownerId: ID_BYTES,
  worldId: ID_BYTES,
  createdAt: TIME_BYTES,
  updatedAt: TIME_BYTES,
};

function scannedUsers(stage: Stage, check: RowChecker): StageScanned {
  const fields = ["id", "displayName", "userIconUrl", "createdAt"];
  const layout = layoutOf(
    '{"id":"$id","displayName":"$displayName","userIconUrl":"$userIconUrl","createdAt":"$createdAt"}',
    fields,
  );
  const scan = new RowScanner(fields, CHECKED_LENGTHS);
  const user = { id: new Uint32Array(4), createdAt: 0 };
  return (bytes, from, line) => {
    const to = scan.scan(bytes, from);
    if (to < 0 || !uuidOf(scan, 0, bytes, user.id)) return -1;
    if (!isText(scan.kinds[1]!) || !isOptionalText(scan.kinds[2]!)) return -1;
    user.createdAt = timeOf(scan, 3, bytes);
    if (Number.isNaN(user.createdAt)) return -1;
    check.begin(line);
    if (stageUser(stage, user, check)) appendRow(stage.users.texts, bytes, from, to, scan, layout);
    return to;
  };
}

const ACTIVE = Buffer.from("ACTIVE");

function scannedWorlds(stage: Stage, check: RowChecker): StageScanned {
  const fields = ["id", "name", "description", "ownerId", "isPublic", "status", "createdAt", "updatedAt"];
  const layout = layoutOf(
    '{"id":"$id","name":"$name","description":"$description","ownerId":"$ownerId","isPublic":true,' +
      '"createdAt":"$createdAt","updatedAt":"$updatedAt"}',
    fields,
  );
  const scan = new RowScanner(fields, CHECKED_LENGTHS);
  const { kinds, starts, ends } = scan;
  const world = {
    id: new Uint32Array(4),
    ownerId: new Uint32Array(4),
    isPublic: true,
    isActive: true,
    createdAt: 0,
  };
  const isActive = (bytes: Uint8Array): boolean => {
    if (ends[5]! - starts[5]! !== ACTIVE.length) return false;
    return ACTIVE.every((byte, at) => bytes[starts[5]! + at] === byte);
  };
  return (bytes, from, line) => {
    const to = scan.scan(bytes, from);
    if (to < 0 || !uuidOf(scan, 0, bytes, world.id) || !uuidOf(scan, 3, bytes, world.ownerId)) return -1;
    if (!isText(kinds[1]!) || !isOptionalText(kinds[2]!) || !isBoolean(kinds[4]!) || kinds[5] !== PLAIN)
      return -1;
    world.createdAt = timeOf(scan, 6, bytes);
    if (Number.isNaN(world.createdAt) || Number.isNaN(timeOf(scan, 7, bytes))) return -1;
    world.isPublic = kinds[4] === TRUE;
    world.isActive = isActive(bytes);
    check.begin(line);
    if (stageWorld(stage, world, check)) appendRow(stage.worlds.texts, bytes, from, to, scan, layout);
    return to;
  };
}

function scannedStats(stage: Stage, check: RowChecker): StageScanned {
  const fields = ["worldId", "totalVisits", "uniqueVisitors", "visitsLast30Days", "visitsLast7Days"];
  const scan = new RowScanner(fields, CHECKED_LENGTHS);
  const { kinds, counts } = scan;
  const row = {
    worldId: new Uint32Array(4),
    totalVisits: 0,
    uniqueVisitors: 0,
    visitsLast7Days: 0,
    visitsLast30Days: 0,
  };
  return (bytes, from, line) => {
    const to = scan.scan(bytes, from);
    if (to < 0 || !uuidOf(scan, 0, bytes, row.worldId)) return -1;
    for (let field = 1; field <= 4; field++) if (kinds[field] !== COUNT) return -1;
    row.totalVisits = counts[1]!;
    row.uniqueVisitors = counts[2]!;
    row.visitsLast30Days = counts[3]!;
    row.visitsLast7Days = counts[4]!;
    check.begin(line);
    stageStats(stage, row, check);
    return to;
  };
}

function scannedInstances(stage: Stage, check: RowChecker): StageScanned {
  const fields = ["id", "worldId", "isPublic", "isActive", "createdAt"];
  const layout = layoutOf('{"id":"$id","worldId":"$worldId","createdAt":"$createdAt"}', fields);
  const scan = new RowScanner(fields, CHECKED_LENGTHS);
  const { kinds } = scan;
  const row = {
    id: new Uint32Array(4),
    worldId: new Uint32Array(4),
    isPublic: true,
    isActive: true,
    createdAt: 0,
  };
  return (bytes, from, line) => {
    const to = scan.scan(bytes, from);
    if (to < 0 || !uuidOf(scan, 0, bytes, row.id) || !uuidOf(scan, 1, bytes, row.worldId)) return -1;
    if (!isBoolean(kinds[2]!) || !isBoolean(kinds[3]!)) return -1;
    row.createdAt = timeOf(scan, 4, bytes);
    if (Number.isNaN(row.createdAt)) return -1;
    row.isPublic = kinds[2] === TRUE;
    row.isActive = kinds[3] === TRUE;
    check.begin(line);
    if (stageInstance(stage, row, check)) appendRow(stage.instances.texts, bytes, from, to, scan, layout);
    return to;
  };
}

/** Makes what stages the scanned rows of each file. */
export const SCANNED: Readonly<Record<RowFile, (stage: Stage, check: RowChecker) => StageScanned>> = {
  "users.ndjson": scannedUsers,
  "worlds.ndjson": scannedWorlds,
  "world-stats.ndjson": scannedStats,
  "instances.ndjson": scannedInstances,
};
