/**
 * The rows of each file, one JSON text a row.
 *
 * Later files refer to earlier ones, so a few numbers of every user and world
 * are kept, in typed arrays: a million id strings would take too much memory.
 */

import { formatTime } from "../time.ts";
import { formatUuid } from "../uuid.ts";
import { drawDisplayName, drawWorldTexts } from "./names.ts";
import { createRandom, drawUuid, type Random } from "./random.ts";

const DAY = 86_400_000;
const FIRST_DAY = Date.UTC(2020, 10, 1);
/** No time in a snapshot is later. */
export const LAST_MOMENT = Date.UTC(2026, 9, 31, 20);

/** How much to make, and what later files need of earlier ones. */
export interface Plan {
  readonly seed: number;
  readonly users: number;
  readonly worlds: number;
  readonly instances: number;
  /** Four words a user. */
  readonly userIds: Uint32Array;
  /** Milliseconds since the epoch. */
  readonly userTimes: Float64Array;
  /** Four words a world. */
  readonly worldIds: Uint32Array;
  readonly worldTimes: Float64Array;
  /** By world: how much it and all worlds before it draw instances. */
  readonly pull: Float64Array;
  /** The newest `createdAt` of any row so far. */
  newest: number;
}

/** Makes a plan; its arrays are filled as rows are drawn. */
export function createPlan(sizes: Pick<Plan, "seed" | "users" | "worlds" | "instances">): Plan {
  return {
    ...sizes,
    userIds: new Uint32Array(sizes.users * 4),
    userTimes: new Float64Array(sizes.users),
    worldIds: new Uint32Array(sizes.worlds * 4),
    worldTimes: new Float64Array(sizes.worlds),
    pull: new Float64Array(sizes.worlds),
    newest: 0,
  };
}

const strayId = new Uint32Array(4);

/** An id that no row has. */
function drawStray(random: Random): string {
  drawUuid(random, strayId, 0);
  return formatUuid(strayId, 0);
}

function stamp(plan: Plan, time: number): string {
  if (time > plan.newest) plan.newest = time;
  return formatTime(time);
}

/** The platform grows: the number of users goes up with the square of its age. */
function drawUserTime(random: Random): number {
  // Accounts of an older platform were all taken over in the same moment.
  if (random.chance(0.002)) return FIRST_DAY;
  return FIRST_DAY + Math.floor((LAST_MOMENT - FIRST_DAY) * Math.sqrt(random.unit()));
}

/** Rows of `users.ndjson`. */
export function* drawUsers(plan: Plan): Generator<string, void> {
  const random = createRandom(plan.seed, "users");
  for (let at = 0; at < plan.users; at++) {
    drawUuid(random, plan.userIds, at * 4);
    const id = formatUuid(plan.userIds, at * 4);
    const displayName = drawDisplayName(random);
    const icon = random.unit();
    const time = drawUserTime(random);
    plan.userTimes[at] = time;
    let userIconUrl: string | null = `https://cdn.example.com/icons/${id}.png`;
    if (icon < 0.06) userIconUrl = null;
    else if (icon < 0.2) userIconUrl = `https://avatars.example.com/u/${at.toString(36)}?s=256`;
    const createdAt = stamp(plan, time);
    // A private field, there to be left out of every answer.
    const email = random.chance(0.2) ? `${id.slice(0, 8)}@example.com` : undefined;
    yield JSON.stringify({ id, displayName, userIconUrl, createdAt, email });
  }
}

/**
 * Spreads ranks over rows, so that the first rows of a file are nothing special.
 * The factor is a prime, small enough for exact products.
 */
function rowOfRank(rank: number, rows: number): number {
  return (rank * 15_485_863 + 7_919) % rows;
}

/** A user who owns a world; few own many. Returns -1 for a deleted account. */
function drawOwner(plan: Plan, random: Random): number {
  if (plan.users === 0 || random.chance(0.005)) return -1;
  const unit = random.unit();
  const skewed = random.chance(0.25) ? unit * unit * unit : unit * unit;
  return rowOfRank(Math.floor(skewed * plan.users), plan.users);
}

function drawWorldTime(random: Random, notBefore: number): number {
  const time = notBefore + Math.floor((LAST_MOMENT - notBefore) * random.unit());
  // Some are released at midnight, many of them in the same one.
  const midnight = Math.ceil(time / DAY) * DAY;
  return midnight <= LAST_MOMENT && random.chance(0.02) ? midnight : time;
}

function drawStatus(random: Random): string {
  const unit = random.unit();
  if (unit < 0.88) return "ACTIVE";
  if (unit < 0.94) return "ARCHIVED";
  return unit < 0.98 ? "DRAFT" : "SUSPENDED";
}

/** Rows of `worlds.ndjson`, to be drawn after the users. */
export function* drawWorlds(plan: Plan): Generator<string, void> {
  const random = createRandom(plan.seed, "worlds");
  for (let at = 0; at < plan.worlds; at++) {
    drawUuid(random, plan.worldIds, at * 4);
    const owner = drawOwner(plan, random);
    const ownerId = owner < 0 ? drawStray(random) : formatUuid(plan.userIds, owner * 4);
    const created = drawWorldTime(random, owner < 0 ? drawUserTime(random) : plan.userTimes[owner]);
    const unit = random.unit();
    const updated = random.chance(0.3)
      ? created
      : created + Math.floor((LAST_MOMENT - created) * unit * unit);
    plan.worldTimes[at] = created;
    const { name, description } = drawWorldTexts(random);
    yield JSON.stringify({
      id: formatUuid(plan.worldIds, at * 4),
      name,
      description,
      ownerId,
      isPublic: random.chance(0.85),
      status: drawStatus(random),
      createdAt: stamp(plan, created),
      updatedAt: formatTime(updated),
    });
  }
}

/** Above this, visits grow ever more slowly, up to twice as many. */
const MANY_VISITS = 4_000_000;

/** Visits of a world a month old or more: with half as many visits there are twice as many worlds. */
function drawVisits(random: Random): number {
  const unit = (random.word() + 1) / 4_294_967_297;
  const visits = Math.floor(40 * (1 / unit - 1));
  // The very top would otherwise tower over everything else.
  const more = visits - MANY_VISITS;
  if (more > 0) return MANY_VISITS + Math.floor((MANY_VISITS * more) / (more + 5 * MANY_VISITS));
  // Counters that were once estimated end in zeros, and so are equal now and then.
  return visits >= 1000 && random.chance(0.05) ? Math.floor(visits / 1000) * 1000 : visits;
}

function share(random: Random, whole: number, least: number, most: number): number {
  return Math.floor(whole * (least + (most - least) * random.unit()));
}

/** Seven numbers that add up to the visits of a week. */
function drawDays(random: Random, week: number): number[] {
  const days: number[] = [];
  let left = week;
  for (let day = 0; day < 6; day++) {
    days.push(share(random, left, 0, 2 / (7 - day)));
    left -= days[day];
  }
  return [...days, left];
}

/** Rows of `world-stats.ndjson`, to be drawn after the worlds. */
export function* drawStats(plan: Plan): Generator<string, void> {
  const random = createRandom(plan.seed, "world-stats");
  let pull = 0;
  for (let at = 0; at < plan.worlds; at++) {
    const counted = random.chance(0.95);
    const age = LAST_MOMENT - plan.worldTimes[at];
    const youth = Math.min(1, age / (30 * DAY));
    const totalVisits = counted ? Math.floor(drawVisits(random) * youth) : 0;
    // Busy worlds draw instances, but not in proportion: else a handful would have them all.
    pull += 1 + Math.sqrt(totalVisits);
    plan.pull[at] = pull;
    if (!counted) continue;
    const unit = random.unit();
    const month = age < 30 * DAY ? totalVisits : Math.floor(totalVisits * unit * unit * unit);
    const week = age < 7 * DAY ? month : share(random, month, 0.05, 0.45);
    yield JSON.stringify({
      worldId: formatUuid(plan.worldIds, at * 4),
      totalVisits,
      uniqueVisitors: totalVisits === 0 ? 0 : Math.max(1, share(random, totalVisits, 0.15, 0.9)),
      visitsLast30Days: month,
      visitsLast7Days: week,
      dailyVisits: random.chance(0.02) ? drawDays(random, week) : undefined,
    });
  }
}

/** The first world whose sum of pulls is above the mark. */
function findPulled(pull: Float64Array, mark: number): number {
  let low = 0;
  let high = pull.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pull[middle] <= mark) low = middle + 1;
    else high = middle;
  }
  return low;
}

const REGIONS = ["jp", "us-west", "eu", "us-east", "kr"];
const instanceId = new Uint32Array(4);

/** Rows of `instances.ndjson`, to be drawn after the world statistics. */
export function* drawInstances(plan: Plan): Generator<string, void> {
  const random = createRandom(plan.seed, "instances");
  for (let at = 0; at < plan.instances; at++) {
    drawUuid(random, instanceId, 0);
    const mark = random.unit() * (plan.pull.at(-1) ?? 0);
    const world = plan.worlds > 0 ? findPulled(plan.pull, mark) : -1;
    const unit = random.unit();
    // Most are young, and none is older than its world.
    const open = Math.min(4 * DAY, world < 0 ? 4 * DAY : LAST_MOMENT - plan.worldTimes[world]);
    yield JSON.stringify({
      id: formatUuid(instanceId, 0),
      worldId: world < 0 ? drawStray(random) : formatUuid(plan.worldIds, world * 4),
      isPublic: random.chance(0.75),
      isActive: random.chance(0.85),
      createdAt: stamp(plan, LAST_MOMENT - Math.ceil(open * unit * unit)),
      region: REGIONS[random.below(REGIONS.length)],
    });
  }
}
