/**
 * The rows of each file. Every row has a random stream of its own that begins with its id and its times: rows that refer
 * to it draw these again. So of ten million rows memory holds only each world's weight for drawing instances.
 */

import type { RowFile } from "../model/model.ts";
import { formatTime } from "../model/time.ts";
import { formatUuid } from "../model/uuid.ts";
import type { Values } from "../settings/settings.ts";
import { createRandom, type Random } from "../util/random.ts";
import { drawDisplayName, drawWorldTexts } from "./text.ts";

const DAY = 86_400_000;
const FIRST_DAY = Date.UTC(2020, 10, 1);
/** Upper bound of all times in a snapshot, in milliseconds since the epoch. */
export const LAST_MOMENT = Date.UTC(2026, 9, 31, 20);

type Sizes = Pick<Values<"generate">, "seed" | "users" | "worlds" | "instances">;

interface Plan extends Sizes, Readonly<Record<"ofUsers" | "ofWorlds" | "ofStats" | "ofInstances", Random>> {
  /** By world: the cumulative weight for drawing instances, up to and including that world. */
  readonly pull: Float64Array;
}

/** A UUID of version 4. */
function drawId({ word }: Random): string {
  const [first, second, third, fourth] = [word(), word(), word(), word()];
  const version = (second & 0xffff_0fff) | 0x4000;
  const variant = (third & 0x0fff_ffff) | ((8 | (third & 3)) << 28);
  return formatUuid(Uint32Array.of(first, version, variant, fourth), 0);
}

/** The platform grows: the number of users increases with the square of its age. */
function drawUserTime(random: Random): number {
  // Accounts taken over from an older platform share one time.
  if (random.chance(0.002)) return FIRST_DAY;
  return FIRST_DAY + Math.floor((LAST_MOMENT - FIRST_DAY) * Math.sqrt(random.unit()));
}

/** The row of a world's owner; few users own many worlds. @returns -1 for a deleted account */
function drawOwner(random: Random, users: number): number {
  if (users === 0 || random.chance(0.005)) return -1;
  const unit = random.unit();
  const rank = Math.floor((random.chance(0.25) ? unit * unit * unit : unit * unit) * users);
  // A prime, small enough for exact products, spreads ranks over rows, so that the first rows of a file are not special.
  return (rank * 15_485_863 + 7_919) % users;
}

function drawWorldTime(random: Random, notBefore: number): number {
  const time = notBefore + Math.floor((LAST_MOMENT - notBefore) * random.unit());
  // Some worlds are released at midnight, many of them at the same one.
  const midnight = Math.ceil(time / DAY) * DAY;
  return midnight <= LAST_MOMENT && random.chance(0.02) ? midnight : time;
}

function startUser({ ofUsers }: Plan, row: number): { id: string; created: number } {
  ofUsers.startRow(row);
  return { id: drawId(ofUsers), created: drawUserTime(ofUsers) };
}

/** Starts the stream of a world's row. Its owner is mostly an existing user. */
function startWorld(plan: Plan, row: number): { id: string; ownerId: string; created: number } {
  const { ofWorlds } = plan;
  ofWorlds.startRow(row);
  const id = drawId(ofWorlds);
  const ownerRow = drawOwner(ofWorlds, plan.users);
  const owner =
    ownerRow < 0 ? { id: drawId(ofWorlds), created: drawUserTime(ofWorlds) } : startUser(plan, ownerRow);
  return { id, ownerId: owner.id, created: drawWorldTime(ofWorlds, owner.created) };
}

function drawIcon(random: Random, row: number, id: string): string | null {
  const unit = random.unit();
  if (unit < 0.06) return null;
  if (unit < 0.2) return `https://avatars.example.com/u/${row.toString(36)}?s=256`;
  return `https://cdn.example.com/icons/${id}.png`;
}

function userRow(plan: Plan, row: number): object {
  const random = plan.ofUsers;
  const { id, created } = startUser(plan, row);
  const displayName = drawDisplayName(random);
  const userIconUrl = drawIcon(random, row, id);
  // A private field that every answer must omit.
  const email = random.chance(0.2) ? `${id.slice(0, 8)}@example.com` : undefined;
  return { id, displayName, userIconUrl, createdAt: formatTime(created), email };
}

const RARE_STATUSES = ["ARCHIVED", "ARCHIVED", "ARCHIVED", "DRAFT", "DRAFT", "SUSPENDED"];

function worldRow(plan: Plan, row: number): object {
  const random = plan.ofWorlds;
  const { id, ownerId, created } = startWorld(plan, row);
  const unit = random.unit();
  const since = random.chance(0.3) ? 0 : Math.floor((LAST_MOMENT - created) * unit * unit);
  const { name, description } = drawWorldTexts(random);
  const status = random.chance(0.88) ? "ACTIVE" : RARE_STATUSES[random.below(RARE_STATUSES.length)]!;
  const isPublic = random.chance(0.85);
  const [createdAt, updatedAt] = [formatTime(created), formatTime(created + since)];
  return { id, name, description, ownerId, isPublic, status, createdAt, updatedAt };
}

/** Visits of a world at least a month old, up to 8,000,000: half as many visits occur in twice as many worlds. */
function drawVisits(random: Random): number {
  const visits = Math.floor(40 * (1 / (random.unit() + 0.000005) - 1));
  // Counters that were once estimated end in zeros, so some are equal.
  return visits >= 1000 && random.chance(0.05) ? Math.floor(visits / 1000) * 1000 : Math.max(0, visits);
}

/** The statistics of a world, which about 95 % have. */
function statsRow(plan: Plan, row: number): object | undefined {
  const random = plan.ofStats;
  random.startRow(row);
  const { id: worldId, created } = startWorld(plan, row);
  const counted = random.chance(0.95);
  const age = LAST_MOMENT - created;
  const totalVisits = counted ? Math.floor(drawVisits(random) * Math.min(1, age / (30 * DAY))) : 0;
  // Busy worlds draw more instances, but less than in proportion: otherwise a few would have them all.
  plan.pull[row] = (plan.pull[row - 1] ?? 0) + (1 + Math.sqrt(totalVisits));
  if (!counted) return undefined;
  const unit = random.unit();
  const month = age < 30 * DAY ? totalVisits : Math.floor(totalVisits * unit * unit * unit);
  const week = age < 7 * DAY ? month : Math.floor(month * (0.05 + 0.4 * random.unit()));
  const uniqueVisitors =
    totalVisits === 0 ? 0 : Math.max(1, Math.floor(totalVisits * (0.15 + 0.75 * random.unit())));
  // A field unknown to the API: seven numbers that add up to the week's visits.
  const day = Math.floor(week / 7);
  const dailyVisits = random.chance(0.02) ? [week - 6 * day, day, day, day, day, day, day] : undefined;
  const recent = { visitsLast30Days: month, visitsLast7Days: week };
  return { worldId, totalVisits, uniqueVisitors, ...recent, dailyVisits };
}

/** The first world whose cumulative weight exceeds the mark; the last one if there is none. */
function findPulled(pull: Float64Array, mark: number): number {
  let [low, high] = [0, pull.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pull[middle]! <= mark) low = middle + 1;
    else high = middle;
  }
  return low;
}

const REGIONS = ["jp", "us-west", "eu", "us-east", "kr"];

/** Requires the worlds' pulls, which {@link statsRow} fills in. */
function instanceRow(plan: Plan, row: number): object {
  const random = plan.ofInstances;
  random.startRow(row);
  const id = drawId(random);
  const mark = random.unit() * (plan.pull.at(-1) ?? 0);
  const world = plan.worlds > 0 ? startWorld(plan, findPulled(plan.pull, mark)) : undefined;
  const worldId = world?.id ?? drawId(random);
  const unit = random.unit();
  // Most are young, and none is older than its world.
  const age = Math.ceil(Math.min(4 * DAY, LAST_MOMENT - (world?.created ?? FIRST_DAY)) * unit * unit);
  const isPublic = random.chance(0.75);
  const isActive = random.chance(0.85);
  const region = REGIONS[random.below(REGIONS.length)]!;
  return { id, worldId, isPublic, isActive, createdAt: formatTime(LAST_MOMENT - age), region };
}

/** The rows of each file. Draw one file after the other, in this order. */
export function createRows(sizes: Sizes): Readonly<Record<RowFile, Iterable<object>>> {
  const { seed, users, worlds, instances } = sizes;
  const plan: Plan = {
    ...sizes,
    ofUsers: createRandom(seed, "users"),
    ofWorlds: createRandom(seed, "worlds"),
    ofStats: createRandom(seed, "world-stats"),
    ofInstances: createRandom(seed, "instances"),
    pull: new Float64Array(worlds),
  };
  function* rows(count: number, draw: (plan: Plan, row: number) => object | undefined): Generator<object> {
    for (let row = 0; row < count; row++) {
      const drawn = draw(plan, row);
      if (drawn !== undefined) yield drawn;
    }
  }
  return {
    "users.ndjson": rows(users, userRow),
    "worlds.ndjson": rows(worlds, worldRow),
    "world-stats.ndjson": rows(worlds, statsRow),
    "instances.ndjson": rows(instances, instanceRow),
  };
}
