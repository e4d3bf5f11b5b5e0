/** Requests everything that a mirror needs: lists of one generation, then statistics and owners one by one. */

import type { User, WorldStats } from "../../model/model.ts";
import { runAll, type Upstream } from "../../upstream/upstream.ts";
import { SourceError } from "../../util/source-error.ts";
import type { Journal } from "./journal.ts";
import { ChangedError, Replies } from "./replies.ts";
import {
  type Read,
  readInstances,
  readPlatformStats,
  readUserOf,
  readUsers,
  readWorldStatsOf,
  readWorlds,
} from "./rows.ts";

export interface CollectOptions {
  readonly upstream: Upstream;
  readonly journal: Journal;
  readonly searches: readonly string[];
  /** Receives the number of requests left. */
  readonly progress: { left: number } | undefined;
}

/** A server's data, as far as the token may see them. */
export type Collected = ReturnType<typeof compose>;

/** Maximum rounds through all the data because they changed. */
const MOST_ROUNDS = 5;

function statsTarget(id: string): string {
  return `/worlds/${encodeURIComponent(id)}/stats`;
}

function userTarget(id: string): string {
  return `/users/${encodeURIComponent(id)}`;
}

type Listed = Awaited<ReturnType<typeof readLists>>;

async function readLists({ searches }: CollectOptions, replies: Replies) {
  const platform = await replies.one("/stats", readPlatformStats);
  const worlds = await replies.list("/worlds", readWorlds);
  const instances = await replies.list("/instances", readInstances);
  /** By search. */
  const found: (readonly User[])[] = [];
  for (const q of searches) {
    found.push(await replies.list(`/users/search?${new URLSearchParams({ q })}`, readUsers));
  }
  return { platform, worlds, instances, found, generation: replies.generation };
}

function newestFirst(a: User, b: User): number {
  return Date.parse(b.createdAt) - Date.parse(a.createdAt) || (a.id < b.id ? -1 : 1);
}

type Details = Awaited<ReturnType<typeof readDetails>>;

/** Reads data that no list holds, one by one: statistics, and the owners that no search found. */
async function readDetails(options: CollectOptions, replies: Replies, { worlds, found }: Listed) {
  const { entries } = options.journal;
  const { progress = { left: 0 } } = options;
  const users = new Map(found.flat().map((user) => [user.id, user]));
  const owners = [...new Set(worlds.map(({ ownerId }) => ownerId))].filter((id) => !users.has(id));
  const stats = new Map<string, WorldStats>();
  const targets = [...owners.map(userTarget), ...worlds.map(({ id }) => statsTarget(id))];
  progress.left = targets.filter((target) => !entries.has(target)).length;
  const find = async <Row>(target: string, read: Read<Row>): Promise<Row | null> => {
    const isNew = !entries.has(target);
    const { value } = await replies.find(target, read);
    if (isNew) progress.left--;
    return value;
  };
  await runAll(owners, async (id) => {
    const user = await find(userTarget(id), readUserOf(id));
    if (user !== null) users.set(id, user);
  });
  await runAll(worlds, async ({ id }) => {
    const counts = await find(statsTarget(id), readWorldStatsOf(id));
    if (counts !== null) stats.set(id, counts);
  });
  return { stats, users };
}

function compose(listed: Listed, { stats, users }: Details) {
  const { found, platform, generation } = listed;
  const worlds = listed.worlds.filter(({ id }) => stats.has(id));
  const instances = listed.instances.filter(({ worldId }) => stats.has(worldId));
  const wanted = new Set([...worlds.map(({ ownerId }) => ownerId), ...found.flat().map(({ id }) => id)]);
  const kept = [...wanted].flatMap((id) => users.get(id) ?? []).sort(newestFirst);
  return {
    worlds,
    instances,
    platform,
    /** The one generation of all the data; undefined when the server names none. */
    generation,
    /** Owners and users found by the searches: newest first, then by id. */
    users: kept,
    stats: worlds.map(({ id }) => stats.get(id)!),
    /** Number of listed worlds that were gone when their statistics were requested. */
    gone: listed.worlds.length - worlds.length,
    /** Number of owners that the server does not know. */
    unknownOwners: wanted.size - kept.length,
  };
}

/** Refuses worlds that all lack statistics: otherwise a snapshot without worlds would be published. */
async function refuseNoWorlds({ worlds }: Listed, { stats }: Details, journal: Journal): Promise<void> {
  if (worlds.length === 0 || stats.size > 0) return;
  await journal.drop(worlds.map(({ id }) => statsTarget(id)));
  throw new SourceError(
    `/worlds: the server lists ${worlds.length} worlds and answers 404 to the statistics of all of them; nothing is published`,
    { isLasting: true },
  );
}

/** Collects everything; repeats replies of an older generation until all are of one. @throws {SourceError}; the signal's reason */
export async function collect(options: CollectOptions): Promise<Collected> {
  const { journal } = options;
  let problem = "";
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    const replies = new Replies(options.upstream, journal);
    try {
      const listed = await readLists(options, replies);
      const details = await readDetails(options, replies, listed);
      const old = [...journal.entries].filter(([, { etag }]) => etag !== replies.newest);
      if (old.length === 0) {
        await refuseNoWorlds(listed, details, journal);
        return compose(listed, details);
      }
      await journal.drop(old.map(([target]) => target));
      problem = `the server's data changed ${MOST_ROUNDS} times while they were read: nothing is published; a token with a higher limit reads them faster`;
    } catch (error) {
      if (!(error instanceof ChangedError)) throw error;
      await journal.clear();
      problem = `${error.message}: begun again ${MOST_ROUNDS} times; the server changes too often`;
    }
  }
  throw new SourceError(problem);
}
