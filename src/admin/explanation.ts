/**
 * The reply of `GET /explain?target=…[&key=ID]`: how the served generation would answer a request target of the API.
 * An explanation counts and keeps nothing.
 */

import type { FaultName } from "../model/fault.ts";
import type { Scope } from "../model/model.ts";

/** The gate's verdict on a key, and its remaining requests. */
export interface KeyExplanation {
  readonly id: string;
  readonly name: string;
  readonly kind: "api" | "cli";
  /** Why it would be refused, the scope included; null if it would be let in. */
  readonly fault: FaultName | null;
  readonly scopes: readonly Scope[];
  /** When its validity ends; null for never. */
  readonly expiresAt: string | null;
  /** Null for a CLI token, which has no limit. */
  readonly quota: {
    /**
     * The counter of `used` and `remaining`.
     * - `here`: this replica; limits are not shared.
     * - `shared`: the counter server, asked for this explanation; permits that other replicas hold count as used.
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
  /** `exact`, too, if similar names were asked for and have no index. */
  readonly match: "exact" | "similar";
  /** The query as it is compared: folded and trimmed. */
  readonly term: string;
  /** The terms that a match must all contain: one for users. */
  readonly terms: readonly string[];
  /** Number of matches; null if the search took too long for an explanation. */
  readonly total: number | null;
  /** Null for a search for similar names, and if `total` is. */
  readonly classes: readonly ClassExplanation[] | null;
  readonly cache: {
    /** Threads that hold the page of this request. */
    readonly holding: number;
    /** Threads with a cache that were asked. */
    readonly asked: number;
  };
  /** Duration of the search without the cache, on the thread that explains; null if `classes` is. */
  readonly durationMs: number | null;
}

/** The whole reply. */
export interface Explanation {
  /** As given, encoded as a client would. */
  readonly target: string;
  /** The path to route: of a target in absolute form, without the authority. */
  readonly path: string;
  readonly generation: string;
  /** The operation, named as in the OpenAPI document; null if none has this path, which may belong to a page beside the API. */
  readonly route: {
    readonly name: string;
    /** Path pattern below the API's base path: `/worlds/:id`. */
    readonly path: string;
    /** The scope that an API key needs; null if any valid key will do. */
    readonly scope: Scope | null;
    readonly summary: string;
  } | null;
  /** The operation's own parameters as applied, with the text in place of `:id`. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
  /** Null when no key was named. */
  readonly key: KeyExplanation | null;
  /** Null if the operation is no search, or one without a query. */
  readonly search: SearchExplanation | null;
  /** The answer to a GET; if no key was named, to one with a key that may do everything. */
  readonly answer: {
    readonly status: number;
    /** Name and message of the error; null without an error. */
    readonly fault: FaultName | null;
    readonly error: string | null;
    /** Size of the body. */
    readonly bytes: number;
  };
  /** Time taken to make this explanation. */
  readonly durationMs: number;
}
