/** Functions that features add to a server. Each is absent without its feature; `src/features.ts` lists the present ones. */

import type { PageServer } from "../api/pages/serve.ts";
import type { CountInThread, SharedLimits } from "../auth/shared.ts";
import type { Settings } from "../settings/settings.ts";
import type { FindSource } from "./load/source.ts";
import type { SimilarGiven, SimilarSearching } from "./similar/similar.ts";

export interface ThreadFeatures {
  /** Opens the pages beside the API; undefined if they are turned off. @param limit of an API key, in words */
  readonly openPages?: (settings: Settings, limit: string) => PageServer | undefined;
  readonly countInThread?: CountInThread;
}

export interface Features extends ThreadFeatures {
  readonly findSource?: FindSource;
  /** Makes similar search; undefined if it is turned off. */
  readonly openSimilar?: (settings: Settings, given: SimilarGiven) => Promise<SimilarSearching | undefined>;
  /** Reads how limits are shared; undefined if they are not. @throws {SettingError} */
  readonly shareLimits?: (settings: Settings) => Promise<SharedLimits | undefined>;
}
