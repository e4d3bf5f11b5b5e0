/** The types of a row of the route table. */

import type { Body } from "../../model/body.ts";
import type { FaultName } from "../../model/fault.ts";
import type { Period, Scope } from "../../model/model.ts";
import type { PathPattern } from "../../model/paths.ts";
import type { ResourceName } from "../../model/schema.ts";
import type { Caller, Search, SimilarSearch, Store } from "../../store/generation.ts";

/** The parameters of one request, normalised; parameters that the operation does not take have their defaults. */
export interface Parameters {
  /** 1 to 50. */
  limit: number;
  /** 0 to 2^53 - 1. */
  offset: number;
  /** As sent, decoded; "" when absent. */
  q: string;
  period: Period;
  /** As sent, decoded; "" when absent. */
  worldId: string;
  match: Match;
}

export type ParameterName = keyof Parameters;

/** How a search compares: exactly, unless the request asks for similar names. */
export type Match = "exact" | "similar";

/** The input of an operation: one generation, the id in the path, the parameters, and the caller. */
export interface Call extends Caller {
  readonly store: Store;
  readonly search: Search;
  /** Undefined where the server has none. */
  readonly similar: SimilarSearch | undefined;
  /** The text in place of `:id`, or "". */
  readonly id: string;
  readonly parameters: Readonly<Parameters>;
}

/** The outcome of an operation: a body, or an error. */
export type Outcome =
  | {
      readonly body: Body;
      /** Whether the same generation will soon answer otherwise, so that its ETag must not name this body. */
      readonly isPassing?: boolean;
    }
  | { readonly fault: FaultName };

export interface Route {
  /** Its name in clients that are generated from the OpenAPI document. */
  readonly name: string;
  readonly path: PathPattern;
  /** Scope an API key needs, or null when any valid key will do. */
  readonly scope: Scope | null;
  readonly parameters: readonly ParameterName[];
  /** Shape of a 200: one object, a list, or a list with its period. */
  readonly reply: { readonly envelope: "one" | "list" | "ranking"; readonly schema: ResourceName };
  /** Errors of its own, beside the errors that every operation can answer. */
  readonly faults: readonly FaultName[];
  readonly summary: string;
  readonly run: (call: Call) => Outcome | Promise<Outcome>;
}
