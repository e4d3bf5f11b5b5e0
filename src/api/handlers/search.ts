/** The common part of both searches: their term, and the choice between exact and similar. */

import { readTerm } from "../../search/fold.ts";
import type { Busy, Found, FoundSimilar, PageOf } from "../../store/generation.ts";
import type { Block, Cut } from "../../store/table.ts";
import { foundPage } from "./envelope.ts";
import type { Call, Match, Outcome } from "./route.ts";

/** The end of an envelope: how the search compared. */
function matchText(match: Match): string {
  return `,"match":"${match}"`;
}

/** Marks an exact answer in place of a similar one, which may find more later in the same generation. */
function passing(outcome: Outcome): Outcome {
  return "fault" in outcome ? outcome : { ...outcome, isPassing: true };
}

/**
 * Answers a search, by similar names only where the server has them. Until their index is ready, the exact search
 * answers and says so.
 */
export function searchPage(
  table: "users" | "worlds",
  block: Block,
  call: Call,
  cut?: Cut,
): Outcome | Promise<Outcome> {
  const { search, similar, parameters } = call;
  const term = readTerm(parameters.q);
  if (term === "") return { fault: "noQuery" };
  const exact = (): Found | Busy | Promise<Found | Busy> => search[table](term, parameters, call);
  if (parameters.match !== "similar" || similar === undefined) {
    return foundPage(block, exact(), parameters, cut);
  }
  const show = (found: FoundSimilar): Outcome | Promise<Outcome> => {
    if (found !== undefined) return foundPage(block, found, parameters, cut, matchText("similar"));
    const instead = foundPage(block, exact(), parameters, cut, matchText("exact"));
    return instead instanceof Promise ? instead.then(passing) : passing(instead);
  };
  const page: PageOf = { limit: parameters.limit, offset: parameters.offset };
  const found = similar[table](term, page, call);
  return found instanceof Promise ? found.then(show) : show(found);
}
