/** The JSON of platform statistics, and the end of the part of a world's JSON that a search shows. */

import { RESOURCES, type ServedPart, servedLayout, VALUE_BYTES } from "../model/schema.ts";
import { ENCODERS } from "./encoders.ts";
import type { Cut } from "./table.ts";

export function platformStatsOf(tables: Record<"users" | "worlds" | "instances", { rows: number }>): string {
  return ENCODERS.platformStats({
    totalUsers: tables.users.rows,
    totalPublicWorlds: tables.worlds.rows,
    totalPublicInstances: tables.instances.rows,
  });
}

function leastBytes({ before, field: { type } }: ServedPart): number {
  return before.length + (VALUE_BYTES[type] ?? { text: 0, boolean: 4, count: 1 }[type as "text"]);
}

function cutOfFoundWorlds(): Cut {
  const { parts, end } = servedLayout(RESOURCES.world.fields);
  const later = parts.slice(servedLayout(RESOURCES.foundWorld.fields).parts.length);
  // The quote of the description stays.
  const tail = later.reduce((sum, part) => sum + leastBytes(part), end.length) - 1;
  return { tail, next: Buffer.from(later[0]!.before.slice(1)) };
}

/** A search item is a prefix of its world: the part that is left off. */
export const FOUND_WORLD_CUT = cutOfFoundWorlds();
