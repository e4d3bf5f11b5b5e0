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

interface Plan extends Sizes {
  readonly ofUsers: Random;
  readonly ofWorlds: Random;
  /** By world: the cumulative weight for drawing instances, up to and including that world. */
  readonly pull: Float64Array;
}

/** A UUID, as four random words. */
type Id = readonly [number, number, number, number];

function drawId({ word }: Random): Id {
  return [word(), word(), word(), word()];
}

/** A UUID of version 4. */
function idText([first, second, third, fourth]: Id): string {
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

function startUser({ ofUsers }: Plan, row: number): { id: Id; created: number } {
  ofUsers.startRow(row);
  return { id: drawId(ofUsers), created: drawUserTime(ofUsers) };
}

/** Starts the stream of a world's row. Its owner is mostly an existing user. */
function startWorld(plan: Plan, row: number): { id: Id; ownerId: Id; created: number } {
  const { ofWorlds } = plan;
  ofWorlds.startRow(row);
  const id = drawId(ofWorlds);
  const ownerRow = drawOwner(ofWorlds, plan.users);
  const owner =
    ownerRow < 0 ? { id: drawId(ofWorlds), created: drawUserTime(ofWorlds) } : startUser(plan, ownerRow);
  return { id, ownerId: owner.id, created: drawWorldTime(ofWorlds, owner.created) };
}

function drawIcon(random: Random, row: number, id: string): string {
  const unit = random.unit();
  if (unit < 0.06) return "null";
  if (unit < 0.2) return `"https://avatars.example.com/u/${row.toString(36)}?s=256"`;
  return `"https://cdn.example.com/icons/${id}.png"`;
}

function* userRows(plan: Plan): Generator<string> {
  const random = plan.ofUsers;
  for (let row = 0; row < plan.users; row++) {
    const head = startUser(plan, row);
    const id = idText(head.id);
    const shown = `"displayName":${JSON.stringify(drawDisplayName(random))},"userIconUrl":${drawIcon(random, row, id)}`;
    // A private field that every answer must omit.
    const email = random.chance(0.2) ? `,"email":"${id.slice(0, 8)}@example.com"` : "";
    yield `{"id":"${id}",${shown},"createdAt":"${formatTime(head.created)}"${email}}\n`;
  }
}

const RARE_STATUSES = ["ARCHIVED", "ARCHIVED", "ARCHIVED", "DRAFT", "DRAFT", "SUSPENDED"];

function* worldRows(plan: Plan): Generator<string> {
  const random = plan.ofWorlds;
  for (let row = 0; row < plan.worlds; row++) {
    const { id, ownerId, created } = startWorld(plan, row);
    const unit = random.unit();
    const since = random.chance(0.3) ? 0 : Math.floor((LAST_MOMENT - created) * unit * unit);
    const { name, description } = drawWorldTexts(random);
    const texts = `"name":${JSON.stringify(name)},"description":${JSON.stringify(description)}`;
    const status = random.chance(0.88) ? "ACTIVE" : RARE_STATUSES[random.below(RARE_STATUSES.length)]!;
    const state = `"isPublic":${random.chance(0.85)},"status":"${status}"`;
    const times = `"createdAt":"${formatTime(created)}","updatedAt":"${formatTime(created + since)}"`;
    yield `{"id":"${idText(id)}",${texts},"ownerId":"${idText(ownerId)}",${state},${times}}\n`;
  }
}

/** Visits of a world at least a month old, up to 8,000,000: half as many visits occur in twice as many worlds. */
function drawVisits(random: Random): number {
  const visits = Math.floor(40 * (1 / (random.unit() + 0.000005) - 1));
  // Counters that were once estimated end in zeros, so some are equal.
  return visits >= 1000 && random.chance(0.05) ? Math.floor(visits / 1000) * 1000 : Math.max(0, visits);
}

function share(random: Random, whole: number, least: number, most: number): number {
  return Math.floor(whole * (least + (most - least) * random.unit()));
}

/** About 95 % of the worlds have statistics. */
function* statsRows(plan: Plan): Generator<string> {
  const random = createRandom(plan.seed, "world-stats");
  let pull = 0;
  for (let row = 0; row < plan.worlds; row++) {
    random.startRow(row);
    const { id, created } = startWorld(plan, row);
    const counted = random.chance(0.95);
    const age = LAST_MOMENT - created;
    const totalVisits = counted ? Math.floor(drawVisits(random) * Math.min(1, age / (30 * DAY))) : 0;
    // Busy worlds draw more instances, but less than in proportion: otherwise a few would have them all.
    pull += 1 + Math.sqrt(totalVisits);
    plan.pull[row] = pull;
    if (!counted) continue;
    const unit = random.unit();
    const month = age < 30 * DAY ? totalVisits : Math.floor(totalVisits * unit * unit * unit);
    const week = age < 7 * DAY ? month : share(random, month, 0.05, 0.45);
    const visitors = totalVisits === 0 ? 0 : Math.max(1, share(random, totalVisits, 0.15, 0.9));
    const day = Math.floor(week / 7);
    // A field unknown to the API: seven numbers that add up to the week's visits.
    const days = random.chance(0.02) ? `,"dailyVisits":[${week - 6 * day}${`,${day}`.repeat(6)}]` : "";
    const counts = `"uniqueVisitors":${visitors},"visitsLast30Days":${month},"visitsLast7Days":${week}`;
    yield `{"worldId":"${idText(id)}","totalVisits":${totalVisits},${counts}${days}}\n`;
  }
}

/** The first world whose cumulative weight exceeds the mark; the last one if there is none. */
function findPulled(pull: Float64Array, mark: number): number {
  let low = 0;
  let high = pull.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pull[middle]! <= mark) low = middle + 1;
    else high = middle;
  }
  return low;
}

const REGIONS = ["jp", "us-west", "eu", "us-east", "kr"];

/** Requires the worlds' pulls, which {@link statsRows} fills in. */
function* instanceRows(plan: Plan): Generator<string> {
  const random = createRandom(plan.seed, "instances");
  for (let row = 0; row < plan.instances; row++) {
    random.startRow(row);
    const id = drawId(random);
    const mark = random.unit() * (plan.pull.at(-1) ?? 0);
    const world = plan.worlds > 0 ? startWorld(plan, findPulled(plan.pull, mark)) : undefined;
    const worldId = world?.id ?? drawId(random);
    const unit = random.unit();
    // Most are young, and none is older than its world.
    const age = Math.ceil(Math.min(4 * DAY, LAST_MOMENT - (world?.created ?? FIRST_DAY)) * unit * unit);
    const state = `"isPublic":${random.chance(0.75)},"isActive":${random.chance(0.85)}`;
    const rest = `"createdAt":"${formatTime(LAST_MOMENT - age)}","region":"${REGIONS[random.below(REGIONS.length)]!}"`;
    yield `{"id":"${idText(id)}","worldId":"${idText(worldId)}",${state},${rest}}\n`;
  }
}

/** The rows of each file. Draw one file after the other, in this order. */
export function createRows(sizes: Sizes): Readonly<Record<RowFile, Iterable<string>>> {
  const plan: Plan = {
    ...sizes,
    ofUsers: createRandom(sizes.seed, "users"),
    ofWorlds: createRandom(sizes.seed, "worlds"),
    pull: new Float64Array(sizes.worlds),
  };
  return {
    "users.ndjson": userRows(plan),
    "worlds.ndjson": worldRows(plan),
    "world-stats.ndjson": statsRows(plan),
    "instances.ndjson": instanceRows(plan),
  };
}
