/** Sends a sample of requests to another server and compares each answer with the snapshot's. */

import type { Store } from "../store/generation.ts";
import type { MirrorNote } from "../upstream/cli.ts";
import { runAll, type Upstream } from "../upstream/upstream.ts";
import { isObject } from "../util/json.ts";
import {
  type ApiAnswer,
  compareAnswers,
  type Difference,
  type DifferenceKind,
  type Here,
  KINDS,
} from "./compare.ts";
import { planProbes, type UsersHere } from "./plan.ts";

export interface VerifyOptions {
  readonly store: Store;
  readonly here: Here;
  readonly upstream: Upstream;
  readonly note: MirrorNote | undefined;
  readonly samples: number;
  readonly seed: number;
  /** Receives the number of requests left. */
  readonly progress: { left: number };
}

/** A differing header that does not count as a difference. */
interface Note extends Omit<Difference, "kind"> {
  /** Number of such answers; `target` is one of them. */
  readonly answers: number;
}

export type Verified = Awaited<ReturnType<typeof verifySnapshot>>;

const STATUSES = [200, 400, 404];

/** The platform's counts without the number of users, for a snapshot that does not hold all of them. */
function withoutUserCount(answer: ApiAnswer): ApiAnswer {
  const { body } = answer;
  if (!isObject(body) || !isObject(body.data)) return answer;
  const { totalUsers: _, ...data } = body.data;
  return { ...answer, body: { ...body, data } };
}

function countOf(differences: readonly Difference[]): Partial<Record<DifferenceKind, number>> {
  const counts = KINDS.map(
    (kind) => [kind, differences.filter((found) => found.kind === kind).length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function groupNotes(found: readonly Difference[]): readonly Note[] {
  const notes = new Map<string, Note>();
  for (const { kind, target, what, here, there } of found) {
    if (kind !== "note") continue;
    const key = JSON.stringify([what, here, there]);
    const known = notes.get(key) ?? { target, what, here, there, answers: 0 };
    notes.set(key, { ...known, answers: known.answers + 1 });
  }
  return [...notes.values()];
}

/** Runs the comparison. @throws `SourceError`; the signal's reason */
export async function verifySnapshot(options: VerifyOptions) {
  const { store, here, upstream, note, samples, seed, progress } = options;
  const usersHere: UsersHere = {
    isComplete: note === undefined || store.users.rows >= note.totalUsers,
    searches: note?.searches ?? [],
  };
  const hide = (text: string): string => upstream.hide(text);
  const probes = planProbes(store, samples, seed, usersHere);
  const found = new Map<number, readonly Difference[]>();
  progress.left = probes.length;
  await runAll([...probes.entries()], async ([at, probe]) => {
    const { target, authorization } = probe;
    const statuses = authorization === undefined ? STATUSES : [...STATUSES, 401];
    const reply = await upstream.get(target, { authorization, statuses });
    const isCut = target === "/stats" && !usersHere.isComplete;
    const [ours, theirs] = [await here.answer(probe), reply].map((answer) =>
      isCut ? withoutUserCount(answer) : answer,
    );
    found.set(at, await compareAnswers(target, ours!, theirs!, here, hide));
    progress.left--;
  });
  const all = probes.flatMap((_, at) => found.get(at)!);
  const differences = all.filter(({ kind }) => kind !== "note");
  return {
    compared: probes.length,
    differences,
    counts: countOf(differences),
    notes: groupNotes(all),
  };
}
