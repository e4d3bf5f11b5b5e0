/** The state that adapters answer from, put together: where it is kept current, and in each other thread that serves. */

import type { State } from "../api/answer.ts";
import { createFixedHeaders } from "../api/headers.ts";
import { limitText } from "../api/limit-text.ts";
import type { KeyUse } from "../auth/key-use.ts";
import type { KeyRing } from "../auth/keys.ts";
import type { Counters } from "../auth/limit.ts";
import { createNotices } from "../auth/notices.ts";
import type { SharedCount } from "../auth/shared.ts";
import { readClients } from "../model/client-address.ts";
import { AccessLog, type AccessLogOptions } from "../observe/access-log.ts";
import type { Observe } from "../observe/events.ts";
import type { RequestCounters } from "../observe/metrics/counters.ts";
import type { Settings } from "../settings/settings.ts";
import type { Generation } from "../store/generation.ts";
import { createSampling } from "../util/sampling.ts";
import type { ThreadFeatures } from "./features.ts";

export interface StateParts {
  readonly counters: Counters;
  /** Limits that are shared with other replicas. */
  readonly shared: SharedCount | undefined;
  readonly keys: KeyRing;
  /** Where this thread counts requests, and those of each key; undefined when nobody asks. */
  readonly requestCounters: RequestCounters | undefined;
  readonly keyUse: KeyUse | undefined;
  readonly generation: Generation;
  readonly observe: Observe;
  readonly writeAccess: AccessLogOptions["write"];
  readonly features: ThreadFeatures;
}

/** Puts a state together, which answers as the settings say. */
export function composeState(settings: Settings, parts: StateParts): State {
  const { counters, shared, keys, requestCounters, keyUse, generation, observe, features } = parts;
  const prefixes = { api: settings.apiKeyPrefix, cli: settings.cliTokenPrefix };
  const clientOf = readClients(settings.trustedProxies);
  const accessLog: AccessLogOptions = {
    observe,
    write: parts.writeAccess,
    prefixes,
    keeps: createSampling({ every: settings.accessLogSample, slowMs: settings.slowMs }),
    clientOf,
    fields: settings.accessLogFields,
  };
  return {
    gate: {
      prefixes,
      defaultLimit: settings.rateLimit,
      counters,
      shared,
      keys,
      closed: false,
    },
    headers: createFixedHeaders(settings.cors),
    observe,
    clientOf,
    accessLog: settings.accessLog ? new AccessLog(accessLog) : undefined,
    pages: features.openPages?.(settings, limitText(settings.rateLimit, counters.windowSeconds)),
    notices: createNotices(observe),
    requestCounters,
    keyUse,
    generation,
  };
}
