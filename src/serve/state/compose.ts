/** The state that adapters answer from, put together: where it is kept current, and in each other thread that serves. */

import type { State } from "../../answer.ts";
import { limitText } from "../../derive/limit-text.ts";
import type { KeyRing } from "../../gate/keys.ts";
import type { Counters } from "../../gate/limit.ts";
import { createNotices } from "../../gate/notices.ts";
import type { SharedLimits } from "../../gate/shared-waiting.ts";
import { createFixedHeaders } from "../../headers.ts";
import type { RequestCounters } from "../../metrics/counters.ts";
import type { Observe } from "../../observe.ts";
import { createReference } from "../../pages/reference.ts";
import { createSampling } from "../../sampling.ts";
import type { Settings } from "../../settings.ts";
import type { Generation } from "../../store/generation.ts";

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

/** Puts a state together, which answers as the settings say. */
export function composeState(settings: Settings, parts: StateParts): State {
  const { counters, shared, keys, requestCounters, generation, observe } = parts;
  return {
    gate: {
      prefixes: { api: settings.apiKeyPrefix, cli: settings.cliTokenPrefix },
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
    keepsAccess: createSampling({ every: settings.accessLogSample, slowMs: settings.slowMs }),
    notices: createNotices(observe),
    requestCounters,
    generation,
  };
}
