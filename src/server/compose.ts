/** Composes the state that adapters answer from, in the thread that keeps it current and in each other serving thread. */

import type { State } from "../api/answer.ts";
import { createFixedHeaders } from "../api/headers.ts";
import { limitText } from "../api/pages/file.ts";
import { rationNotices } from "../auth/notices.ts";
import { readClients } from "../model/client-address.ts";
import { AccessLog, type AccessLogOptions } from "../observe/access-log.ts";
import type { Settings } from "../settings/settings.ts";
import type { ThreadFeatures } from "./features.ts";

interface StateParts
  extends Pick<State["gate"], "counters" | "shared" | "keys">,
    Pick<State, "requestCounters" | "keyUse" | "generation" | "observe"> {
  readonly writeAccess?: AccessLogOptions["write"];
  readonly features: ThreadFeatures;
}

export function composeState(settings: Settings, parts: StateParts): State {
  const { counters, shared, keys, requestCounters, keyUse, generation, observe, features } = parts;
  const prefixes = { api: settings.apiKeyPrefix, cli: settings.cliTokenPrefix };
  const clientOf = readClients(settings.trustedProxies);
  return {
    gate: { prefixes, defaultLimit: settings.rateLimit, counters, shared, keys, closed: false },
    headers: createFixedHeaders(settings.cors),
    observe: rationNotices(observe),
    clientOf,
    accessLog: settings.accessLog
      ? new AccessLog({ observe, write: parts.writeAccess, prefixes, clientOf })
      : undefined,
    pages: features.openPages?.(settings, limitText(settings.rateLimit, counters.windowSeconds)),
    requestCounters,
    keyUse,
    generation,
  };
}
