/** The changes of a reload from one snapshot to another. */

import { PERIODS, type Period, type World } from "../model/model.ts";
import { formatUuid } from "../model/uuid.ts";
import type { Store } from "../store/generation.ts";
import { createIdMap, findWords } from "../store/ids.ts";
import { type Block, rowObject, type Table } from "../store/table.ts";
import { refusalsOf } from "./refusals.ts";

/** Numbers of visible rows that appear, disappear and change. */
interface TableDiff {
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
}

/** A world's ranks before and after, counted from 1. */
interface Move {
  readonly id: string;
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

export type SnapshotDiff = ReturnType<typeof diffStores>;

const MOST_EXAMPLES = 20;
const MOST_MOVES = 10;
/** Below these ranks counts are so close that moves mean nothing. */
export const TOP = 100;

function sameRow(a: Block, rowA: number, b: Block, rowB: number): boolean {
  const [startA, endA] = [a.starts[rowA]!, a.starts[rowA + 1]!];
  const [startB, endB] = [b.starts[rowB]!, b.starts[rowB + 1]!];
  return endA - startA === endB - startB && a.bytes.compare(b.bytes, startB, endB, startA, endA) === 0;
}

/** Yields, for each id in both tables, its row before and its row after. */
function* rowsInBoth(before: Table, after: Table): Generator<readonly [was: number, is: number]> {
  for (let row = 0; row < after.rows; row++) {
    const was = findWords(before.ids, after.ids.words, row * 4);
    if (was >= 0) yield [was, row];
  }
}

/** @param blocks the rows to compare, if not the rows of the tables with the ids */
function diffTables(
  before: Table,
  after: Table,
  blocks: readonly [Block, Block] = [before, after],
): TableDiff {
  let kept = 0;
  let changed = 0;
  for (const [was, is] of rowsInBoth(before, after)) {
    kept++;
    if (!sameRow(blocks[0], was, blocks[1], is)) changed++;
  }
  return { added: after.rows - kept, removed: before.rows - kept, changed };
}

function named(worlds: Table, row: number): Pick<Move, "id" | "name"> {
  return { id: formatUuid(worlds.ids.words, row * 4), name: rowObject<World>(worlds, row).name };
}

function findHidden(before: Store, hiddenIds: Uint32Array) {
  const hidden = createIdMap(hiddenIds);
  let count = 0;
  const examples: Pick<Move, "id" | "name">[] = [];
  for (let row = 0; row < before.worlds.rows; row++) {
    if (findWords(hidden, before.worlds.ids.words, row * 4) < 0) continue;
    count++;
    if (examples.length < MOST_EXAMPLES) examples.push(named(before.worlds, row));
  }
  return { count, examples };
}

/** Rank of each row, from 0. */
function placesOf(ranking: Uint32Array): Uint32Array {
  const places = new Uint32Array(ranking.length);
  for (let place = 0; place < ranking.length; place++) places[ranking[place]!] = place;
  return places;
}

function findMoves(before: Store, after: Store, period: Period): Move[] {
  const was = placesOf(before.popular[period]);
  const is = placesOf(after.popular[period]);
  const moves: { row: number; from: number; to: number }[] = [];
  for (const [old, row] of rowsInBoth(before.worlds, after.worlds)) {
    const from = was[old]!;
    const to = is[row]!;
    if (from !== to && Math.min(from, to) < TOP) moves.push({ row, from, to });
  }
  return moves
    .sort((a, b) => Math.abs(b.to - b.from) - Math.abs(a.to - a.from) || a.to - b.to)
    .slice(0, MOST_MOVES)
    .map(({ row, from, to }) => ({ ...named(after.worlds, row), from: from + 1, to: to + 1 }));
}

/**
 * Compares two stores.
 *
 * @param hiddenWorlds ids of the newer snapshot's hidden worlds, four words each
 */
export function diffStores(before: Store, after: Store, hiddenWorlds: Uint32Array) {
  const stats = [before.worldStats, after.worldStats] as const;
  const moves = PERIODS.map((period) => [period, findMoves(before, after, period)]);
  return {
    from: before.id,
    to: after.id,
    /** Why a server would refuse such a reload, one line per reason; empty if it would accept. */
    refusals: refusalsOf(before, after, false),
    tables: {
      users: diffTables(before.users, after.users),
      worlds: diffTables(before.worlds, after.worlds),
      worldStats: { changed: diffTables(before.worlds, after.worlds, stats).changed },
      instances: diffTables(before.instances, after.instances),
    },
    /** Worlds that were visible and still exist, but are hidden now. */
    becomeHidden: findHidden(before, hiddenWorlds),
    /** The largest moves among worlds that are in the first {@link TOP} before or after. */
    moves: Object.fromEntries(moves) as Record<Period, Move[]>,
  };
}
