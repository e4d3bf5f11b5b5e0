/** What features add to a server. Each function is absent where its feature is; `features.ts` names the present ones. */

import type { PageServer } from "../api/pages/page-server.ts";
import type { CountInThread, SharedLimitsPlan } from "../auth/shared.ts";
import type { Settings } from "../settings/settings.ts";
import type { FindSource } from "./load/source.ts";
import type { SimilarGiven, SimilarSearching } from "./search/similar.ts";

/** The ones that every thread that serves needs. */
export interface ThreadFeatures {
  /**
   * Opens the pages beside the API; undefined where they are turned off.
   *
   * @param limit requests of an API key and their window, in words
   */
  readonly openPages?: (settings: Settings, limit: string) => PageServer | undefined;
  /** Counts requests whose limits are shared. */
  readonly countInThread?: CountInThread;
}

/** All of them. */
export interface Features extends ThreadFeatures {
  /** Finds what brings a snapshot that is given by URL. */
  readonly findSource?: FindSource;
  /** Makes similar search; undefined where it is turned off. */
  readonly openSimilar?: (settings: Settings, given: SimilarGiven) => Promise<SimilarSearching | undefined>;
  /** Reads how limits are shared; undefined where they are not. @throws {SettingError} */
  readonly shareLimits?: (settings: Settings) => Promise<SharedLimitsPlan | undefined>;
}
