/** The server on Bun: what it does as on Node, and the differences that docs/runtimes.md lists. */

import { findRuntime } from "../support/other-runtime.ts";
import { describeSameAsOnNode } from "../support/runtime-suite.ts";

const { runtime, missing } = findRuntime("bun");

describeSameAsOnNode("Bun", runtime, missing);
