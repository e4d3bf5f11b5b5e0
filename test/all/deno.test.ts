/** The server on Deno: what it does as on Node, and the differences that docs/runtimes.md lists. */

import { findRuntime } from "../support/other-runtime.ts";
import { describeSameAsOnNode } from "../support/runtime-suite.ts";

const { runtime, missing } = findRuntime("deno");

describeSameAsOnNode("Deno", runtime, missing);
