/** The list of features: to remove one, delete its folder and the lines that name it here. */

import { DASHBOARD } from "./admin/dashboard-source.ts";
import { ADMIN_SETTINGS, readAdmin } from "./admin/feature.ts";
import type { PagesSource } from "./api/pages/file.ts";
import type { CommandRow, Program } from "./cli/command.ts";
import { CORE_COMMANDS } from "./cli/commands.ts";
import { DOCS_PAGE_COMMANDS } from "./docs-page/commands.ts";
import { DOCS_PAGE_SETTINGS, type DocsPageOptions, openPages, REFERENCE } from "./docs-page/reference.ts";
import { GENERATE_COMMANDS, GENERATE_SETTINGS } from "./generate/feature.ts";
import { CORE_EVENTS } from "./observe/events.ts";
import { CORE_METRICS } from "./observe/metrics/table.ts";
import type { Features, ThreadFeatures } from "./server/features.ts";
import type { CoreOptions } from "./server/open-options.ts";
import { CORE_SETTINGS, placed, type Setting } from "./settings/settings.ts";
import {
  SHARED_LIMITS_EVENTS,
  SHARED_LIMITS_METRICS,
  SHARED_LIMITS_SETTINGS,
  type SharedLimitsOptions,
  shareLimits,
} from "./shared-limits/feature.ts";
import { countInThread } from "./shared-limits/replica.ts";
import {
  openSimilarSearching,
  SIMILAR_EVENTS,
  SIMILAR_SETTINGS,
  SIMILAR_THREAD,
  type SimilarOption,
} from "./similar/feature.ts";
import { SOURCES_COMMANDS } from "./sources/commands.ts";
import {
  findSourceByAddress,
  SOURCES_EVENTS,
  SOURCES_METRICS,
  SOURCES_SETTINGS,
  type SourcesOptions,
} from "./sources/feature.ts";

/** @internal */
const SETTINGS = [
  ...ADMIN_SETTINGS,
  ...DOCS_PAGE_SETTINGS,
  ...GENERATE_SETTINGS,
  ...SHARED_LIMITS_SETTINGS,
  ...SIMILAR_SETTINGS,
  ...SOURCES_SETTINGS,
] as const;

const COMMANDS = [...DOCS_PAGE_COMMANDS, ...GENERATE_COMMANDS, ...SOURCES_COMMANDS];

const EVENTS = { ...SOURCES_EVENTS, ...SIMILAR_EVENTS, ...SHARED_LIMITS_EVENTS };
const METRICS = { ...SHARED_LIMITS_METRICS, ...SOURCES_METRICS };

declare module "./model/feature-rows.ts" {
  /** Makes the rows members of `Values`, `Command` and `Observation`. */
  interface FeatureRows {
    /** @internal */
    readonly settings: (typeof SETTINGS)[number];
    /** @internal */
    readonly commands: typeof COMMANDS;
    readonly events: typeof EVENTS;
    readonly metrics: typeof METRICS;
  }
}

/** @internal Functions that features add to serving threads. */
export const IN_THREADS: ThreadFeatures = { countInThread, openPages };

/** @internal All functions that features add to a server. */
export const FEATURES: Features = {
  ...IN_THREADS,
  findSource: findSourceByAddress,
  openSimilar: openSimilarSearching,
  shareLimits,
};

/** How to open the library. */
export interface OpenOptions
  extends CoreOptions,
    DocsPageOptions,
    SharedLimitsOptions,
    SimilarOption,
    SourcesOptions {}

/** @internal The settings of all commands. */
export const TABLE: readonly Setting[] = /* @__PURE__ */ placed<Setting>(CORE_SETTINGS, SETTINGS);

/** @internal The whole program. The marks let bundlers drop it from threads, which do not use it. */
export const PROGRAM: Program = {
  settings: TABLE,
  commands: /* @__PURE__ */ placed<CommandRow>(CORE_COMMANDS, COMMANDS),
  tables: {
    events: /* @__PURE__ */ Object.assign({}, CORE_EVENTS, EVENTS),
    metrics: /* @__PURE__ */ Object.assign({}, CORE_METRICS, METRICS),
  },
  features: FEATURES,
  readAdmin,
};

/** @internal Entries of the threads that features start; see `startWorker`. */
export const THREADS: readonly string[] = [SIMILAR_THREAD];

/** @internal The sets of pages that the build makes. */
export const PAGES: readonly PagesSource[] = [DASHBOARD, REFERENCE];
