/**
 * The rows of each file, as bytes.
 *
 * Every row depends on the seed, the counts and its number alone; see
 * `heads.ts`. All that is kept of earlier rows is how much each world draws
 * instances.
 *
 * Long: the rows of four files, of which none needs a file of its own.
 */

import type { RowFile } from "../model/model.ts";
import { createRowRandom, drawUuid, type Random } from "../util/random.ts";
import { endWhere } from "../util/sorted.ts";
import { createHeads, type Heads, LAST_MOMENT } from "./heads.ts";
import { drawDisplayName, drawWorldTexts } from "./names.ts";
import { asciiBytes, type RowBytes } from "./row-bytes.ts";

const DAY = 86_400_000;

/** How much to make, and what later files need of earlier ones. */
export interface Plan {
  readonly seed: number;
  readonly users: number;
  readonly worlds: number;
  readonly instances: number;
  readonly heads: Heads;
  /** By world: how much it and all worlds before it draw instances. */
  readonly pull: Float64Array;
  /** The newest `createdAt` of any row so far. */
  newest: number;
}

/** Makes a plan; its array is filled as rows are drawn. */
export function createPlan(sizes: Pick<Plan, "seed" | "users" | "worlds" | "instances">): Plan {
  const heads = createHeads(sizes.seed, sizes.users);
  return { ...sizes, heads, pull: new Float64Array(sizes.worlds), newest: 0 };
}

/** Writes a row. @returns whether there is one of that number */
export type DrawRow = (row: number, out: RowBytes) => boolean;

/** Rows of a file. */
export interface Table {
  /** Numbers of rows go from 0 up to, not including, this. */
  readonly rows: number;
  readonly draw: DrawRow;
}

function stamp(plan: Plan, time: number): number {
  if (time > plan.newest) plan.newest = time;
  return time;
}

const ID = asciiBytes('{"id":"');
const DISPLAY_NAME = asciiBytes('","displayName":');
const NO_ICON = asciiBytes(',"userIconUrl":null,"createdAt":"');
const ICON = asciiBytes(',"userIconUrl":"https://cdn.example.com/icons/');
const ICON_END = asciiBytes('.png","createdAt":"');
const AVATAR = asciiBytes(',"userIconUrl":"https://avatars.example.com/u/');
const AVATAR_END = asciiBytes('?s=256","createdAt":"');
const EMAIL = asciiBytes('","email":"');
const EMAIL_END = asciiBytes('@example.com"}');
const END = asciiBytes('"}');

function userTable(plan: Plan): Table {
  const draw: DrawRow = (row, out) => {
    const { id, created, random } = plan.heads.user(row);
    out.raw(ID);
    out.uuid(id);
    out.raw(DISPLAY_NAME);
    out.text(drawDisplayName(random));
    const icon = random.unit();
    if (icon < 0.06) {
      out.raw(NO_ICON);
    } else if (icon < 0.2) {
      out.raw(AVATAR);
      out.ascii(row.toString(36));
      out.raw(AVATAR_END);
    } else {
      out.raw(ICON);
      out.uuid(id);
      out.raw(ICON_END);
    }
    out.time(stamp(plan, created));
    // A private field, there to be left out of every answer.
    if (random.chance(0.2)) {
      out.raw(EMAIL);
      out.ascii(id[0]!.toString(16).padStart(8, "0"));
      out.raw(EMAIL_END);
    } else {
      out.raw(END);
    }
    return true;
  };
  return { rows: plan.users, draw };
}

const NAME = asciiBytes('","name":');
const DESCRIPTION = asciiBytes(',"description":');
const NULL = asciiBytes("null");
const OWNER = asciiBytes(',"ownerId":"');
const PUBLIC = asciiBytes('","isPublic":true,"status":"');
const NOT_PUBLIC = asciiBytes('","isPublic":false,"status":"');
const CREATED = asciiBytes('","createdAt":"');
const UPDATED = asciiBytes('","updatedAt":"');

function drawStatus(random: Random): string {
  const unit = random.unit();
  if (unit < 0.88) return "ACTIVE";
  if (unit < 0.94) return "ARCHIVED";
  return unit < 0.98 ? "DRAFT" : "SUSPENDED";
}

function worldTable(plan: Plan): Table {
  const draw: DrawRow = (row, out) => {
    const { id, ownerId, created, random } = plan.heads.world(row);
    const unit = random.unit();
    const updated = random.chance(0.3)
      ? created
      : created + Math.floor((LAST_MOMENT - created) * unit * unit);
    const { name, description } = drawWorldTexts(random);
    out.raw(ID);
    out.uuid(id);
    out.raw(NAME);
    out.text(name);
    out.raw(DESCRIPTION);
    if (description === null) out.raw(NULL);
    else out.text(description);
    out.raw(OWNER);
    out.uuid(ownerId);
    out.raw(random.chance(0.85) ? PUBLIC : NOT_PUBLIC);
    out.ascii(drawStatus(random));
    out.raw(CREATED);
    out.time(stamp(plan, created));
    out.raw(UPDATED);
    out.time(updated);
    out.raw(END);
    return true;
  };
  return { rows: plan.worlds, draw };
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
    left -= days[day]!;
  }
  return [...days, left];
}

const WORLD_ID = asciiBytes('{"worldId":"');
const TOTAL = asciiBytes('","totalVisits":');
const UNIQUE = asciiBytes(',"uniqueVisitors":');
const MONTH = asciiBytes(',"visitsLast30Days":');
const WEEK = asciiBytes(',"visitsLast7Days":');
const DAYS = asciiBytes(',"dailyVisits":');
const CLOSE = asciiBytes("}");

function statsTable(plan: Plan): Table {
  const random = createRowRandom(plan.seed, "world-stats");
  let pull = 0;
  const draw: DrawRow = (row, out) => {
    random.startRow(row);
    const { id, created } = plan.heads.world(row);
    const counted = random.chance(0.95);
    const age = LAST_MOMENT - created;
    const youth = Math.min(1, age / (30 * DAY));
    const totalVisits = counted ? Math.floor(drawVisits(random) * youth) : 0;
    // Busy worlds draw instances, but not in proportion: else a handful would have them all.
    pull += 1 + Math.sqrt(totalVisits);
    plan.pull[row] = pull;
    if (!counted) return false;
    const unit = random.unit();
    const month = age < 30 * DAY ? totalVisits : Math.floor(totalVisits * unit * unit * unit);
    const week = age < 7 * DAY ? month : share(random, month, 0.05, 0.45);
    out.raw(WORLD_ID);
    out.uuid(id);
    out.raw(TOTAL);
    out.ascii(String(totalVisits));
    out.raw(UNIQUE);
    out.ascii(String(totalVisits === 0 ? 0 : Math.max(1, share(random, totalVisits, 0.15, 0.9))));
    out.raw(MONTH);
    out.ascii(String(month));
    out.raw(WEEK);
    out.ascii(String(week));
    if (random.chance(0.02)) {
      out.raw(DAYS);
      out.ascii(`[${drawDays(random, week).join()}]`);
    }
    out.raw(CLOSE);
    return true;
  };
  return { rows: plan.worlds, draw };
}

/** The first world whose sum of pulls is above the mark. */
function findPulled(pull: Float64Array, mark: number): number {
  return endWhere(0, pull.length - 1, (world) => pull[world]! <= mark);
}

const OF_WORLD = asciiBytes('","worldId":"');
const OPEN = asciiBytes('","isPublic":true,"isActive":');
const NOT_OPEN = asciiBytes('","isPublic":false,"isActive":');
const BORN = asciiBytes(',"createdAt":"');
const REGION = asciiBytes('","region":"');
const REGIONS = ["jp", "us-west", "eu", "us-east", "kr"];

function instanceTable(plan: Plan): Table {
  const random = createRowRandom(plan.seed, "instances");
  const id = new Uint32Array(4);
  const strayId = new Uint32Array(4);
  const draw: DrawRow = (row, out) => {
    random.startRow(row);
    drawUuid(random, id, 0);
    const mark = random.unit() * (plan.pull.at(-1) ?? 0);
    const world = plan.worlds > 0 ? plan.heads.world(findPulled(plan.pull, mark)) : undefined;
    if (world === undefined) drawUuid(random, strayId, 0);
    const unit = random.unit();
    // Most are young, and none is older than its world.
    const open = Math.min(4 * DAY, world === undefined ? 4 * DAY : LAST_MOMENT - world.created);
    out.raw(ID);
    out.uuid(id);
    out.raw(OF_WORLD);
    out.uuid(world?.id ?? strayId);
    out.raw(random.chance(0.75) ? OPEN : NOT_OPEN);
    out.ascii(random.chance(0.85) ? "true" : "false");
    out.raw(BORN);
    out.time(stamp(plan, LAST_MOMENT - Math.ceil(open * unit * unit)));
    out.raw(REGION);
    out.ascii(REGIONS[random.below(REGIONS.length)]!);
    out.raw(END);
    return true;
  };
  return { rows: plan.instances, draw };
}

/** The rows of each file, to be drawn in order, statistics after worlds and instances last. */
export const TABLES: Readonly<Record<RowFile, (plan: Plan) => Table>> = {
  "users.ndjson": userTable,
  "worlds.ndjson": worldTable,
  "world-stats.ndjson": statsTable,
  "instances.ndjson": instanceTable,
};
