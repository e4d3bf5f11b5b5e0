/** The state that adapters answer from, put together: where it is kept current, and in each other thread that serves. */

import type { State } from "../../answer.ts";
import { limitText } from "../../derive/limit-text.ts";
import type { KeyRing } from "../../gate/keys.ts";
import type { Counters } from "../../gate/limit.ts";
import { createNotices } from "../../gate/notices.ts";
import type { SharedLimits } from "../../gate/shared-waiting.ts";
import type { Prefixes } from "../../gate/token.ts";
import { createFixedHeaders } from "../../headers.ts";
import type { RequestCounters } from "../../metrics/counters.ts";
import type { Observe } from "../../observe.ts";
import { createReference } from "../../pages/reference.ts";
import { type AccessSampling, createSampling } from "../../sampling.ts";
import type { Generation } from "../../store/generation.ts";

/** How requests are answered. */
export interface StateSettings {
  readonly prefixes: Prefixes;
  /** Requests of an API key a window. */
  readonly rateLimit: number;
  readonly cors: boolean;
  /** Whether there are pages beside the API; false when absent. */
  readonly docs?: boolean;
  readonly accessLog: boolean;
  /** Which requests that logs; all when absent. */
  readonly accessSampling?: AccessSampling | undefined;
}

/** What they are answered from. */
export interface StateParts {
  readonly counters: Counters;
  /** Limits that are shared with other replicas. */
  readonly shared: SharedLimits | undefined;
  readonly keys: KeyRing;
  /** Where this thread counts requests; undefined when nobody asks. */
  readonly requestCounters: RequestCounters | undefined;
  readonly generation: Generation;
  readonly observe: Observe;
}

/** Puts a state together. */
export function composeState(settings: StateSettings, parts: StateParts): State {
  const { counters, shared, keys, requestCounters, generation, observe } = parts;
  return {
    gate: {
      prefixes: settings.prefixes,
      defaultLimit: settings.rateLimit,
      counters,
      shared,
      keys,
      closed: false,
    },
    headers: createFixedHeaders(settings.cors),
    observe,
    accessLog: settings.accessLog,
    pages: settings.docs
      ? createReference(settings.cors, limitText(settings.rateLimit, counters.windowSeconds))
      : undefined,
    keepsAccess: settings.accessSampling && createSampling(settings.accessSampling),
    notices: createNotices(observe),
    requestCounters,
    generation,
  };
}
