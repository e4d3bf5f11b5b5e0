/**
 * The reply of `GET /explain?target=…[&key=ID]`: how a request target of the API would be answered by the generation
 * that is served. Nothing is counted and nothing is kept for it.
 */

import type { FaultName } from "../model/fault.ts";
import type { Scope } from "../model/model.ts";

/** What the gate would say of a key, and what is left of its window. */
export interface KeyExplanation {
  readonly id: string;
  readonly name: string;
  readonly kind: "api" | "cli";
  /** Why it would be turned away, the scope included; null when it would be let in. */
  readonly fault: FaultName | null;
  readonly scopes: readonly Scope[];
  /** When its validity ends; null for never. */
  readonly expiresAt: string | null;
  /** Null of a CLI token, which has no limit. */
  readonly quota: {
    /**
     * What `used` and `remaining` are counted by.
     * - `here`: limits are not shared.
     * - `shared`: the counter server, which was asked for this; permits that other replicas hold are among the used ones.
     * - `alone`: this replica within its share, since the counter server cannot be asked.
     */
    readonly counted: "here" | "shared" | "alone";
    readonly used: number;
    readonly limit: number;
    /** Requests that would pass at this replica. */
    readonly remaining: number;
    /** Seconds since the epoch. */
    readonly resetEpochSeconds: number;
  } | null;
}

export interface ClassExplanation {
  /** The rank of the class; 0 comes first. */
  readonly rank: number;
  /** Such as "name equal to the query". */
  readonly meaning: string;
  readonly matches: number;
}

/** How a search would be answered. */
export interface SearchExplanation {
  readonly table: "users" | "worlds";
  /** `exact` also where similar names were asked for and there is no index of them. */
  readonly match: "exact" | "similar";
  /** The query as it is compared: folded and trimmed. */
  readonly term: string;
  /** The parts of which all must be contained: one for users. */
  readonly terms: readonly string[];
  /** All matches; null when the search took too long to be finished for an explanation. */
  readonly total: number | null;
  /** Null of a search for similar names, and when `total` is. */
  readonly classes: readonly ClassExplanation[] | null;
  readonly cache: {
    /** Threads that hold the page of this request. */
    readonly holding: number;
    /** Threads that have a cache and were asked. */
    readonly asked: number;
  };
  /** Time that the search took without the cache, on the thread that explains; null when `total` is. */
  readonly durationMs: number | null;
}

/** The whole reply. */
export interface Explanation {
  /** As it was given. */
  readonly target: string;
  /** What would be routed: of the absolute form without the authority. */
  readonly path: string;
  readonly generation: string;
  /** The operation, named as in the OpenAPI document; null when none has this path, which may be that of a page beside the API. */
  readonly route: {
    readonly name: string;
    /** Path pattern below the API's base path: `/worlds/:id`. */
    readonly path: string;
    /** What an API key needs; null when any valid key will do. */
    readonly scope: Scope | null;
    readonly summary: string;
  } | null;
  /** As they would be applied, with the text in place of `:id`; only those of the operation. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
  /** Null when no key was named. */
  readonly key: KeyExplanation | null;
  /** Null when it is no search, or one without a query. */
  readonly search: SearchExplanation | null;
  /** What a GET would be answered; where no key was named, with a key that may do everything. */
  readonly answer: {
    readonly status: number;
    /** Name and message of the error; null when there is none. */
    readonly fault: FaultName | null;
    readonly error: string | null;
    /** Size of the body. */
    readonly bytes: number;
  };
  /** Time that making this explanation took. */
  readonly durationMs: number;
}
