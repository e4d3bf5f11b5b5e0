/**
 * Ids and times of rows, found again from a row's number.
 *
 * Rows of later files refer to those of earlier ones. Every row has a random
 * stream of its own that begins with its id and its times, so these are drawn
 * again where they are needed, and nothing is kept of ten million rows.
 */

import { createRowRandom, drawUuid, type Random } from "../util/random.ts";

const DAY = 86_400_000;
const FIRST_DAY = Date.UTC(2020, 10, 1);
/** No time in a snapshot is later. */
export const LAST_MOMENT = Date.UTC(2026, 9, 31, 20);

/** The head of a row: it is overwritten by that of the next row that is asked for. */
export interface Head {
  /** Four words. */
  readonly id: Uint32Array;
  /** When it was created: milliseconds since the epoch. */
  readonly created: number;
  /** The row's stream, just behind its head. */
  readonly random: Random;
}

/** The head of a world. */
export interface WorldHead extends Head {
  /** Four words; those of a user that is there, mostly. */
  readonly ownerId: Uint32Array;
}

/** Finds the heads of rows. */
export interface Heads {
  readonly user: (row: number) => Head;
  readonly world: (row: number) => WorldHead;
}

/** The platform grows: the number of users goes up with the square of its age. */
function drawUserTime(random: Random): number {
  // Accounts of an older platform were all taken over in the same moment.
  if (random.chance(0.002)) return FIRST_DAY;
  return FIRST_DAY + Math.floor((LAST_MOMENT - FIRST_DAY) * Math.sqrt(random.unit()));
}

/**
 * Spreads ranks over rows, so that the first rows of a file are nothing special.
 * The factor is a prime, small enough for exact products.
 */
function rowOfRank(rank: number, rows: number): number {
  return (rank * 15_485_863 + 7_919) % rows;
}

/** The row of a user who owns a world; few own many. Returns -1 for a deleted account. */
function drawOwner(random: Random, users: number): number {
  if (users === 0 || random.chance(0.005)) return -1;
  const unit = random.unit();
  const skewed = random.chance(0.25) ? unit * unit * unit : unit * unit;
  return rowOfRank(Math.floor(skewed * users), users);
}

function drawWorldTime(random: Random, notBefore: number): number {
  const time = notBefore + Math.floor((LAST_MOMENT - notBefore) * random.unit());
  // Some are released at midnight, many of them in the same one.
  const midnight = Math.ceil(time / DAY) * DAY;
  return midnight <= LAST_MOMENT && random.chance(0.02) ? midnight : time;
}

/**
 * Finds the heads of a snapshot's rows.
 *
 * @param users number of users
 */
export function createHeads(seed: number, users: number): Heads {
  const ofUser = createRowRandom(seed, "users");
  const ofWorld = createRowRandom(seed, "worlds");
  const user = { id: new Uint32Array(4), created: 0, random: ofUser };
  const world = { id: new Uint32Array(4), ownerId: new Uint32Array(4), created: 0, random: ofWorld };

  function findUser(row: number): Head {
    ofUser.startRow(row);
    drawUuid(ofUser, user.id, 0);
    user.created = drawUserTime(ofUser);
    return user;
  }

  function findWorld(row: number): WorldHead {
    ofWorld.startRow(row);
    drawUuid(ofWorld, world.id, 0);
    const owner = drawOwner(ofWorld, users);
    if (owner < 0) {
      drawUuid(ofWorld, world.ownerId, 0);
      world.created = drawWorldTime(ofWorld, drawUserTime(ofWorld));
    } else {
      const { created } = findUser(owner);
      world.ownerId.set(user.id);
      world.created = drawWorldTime(ofWorld, created);
    }
    return world;
  }

  return { user: findUser, world: findWorld };
}
