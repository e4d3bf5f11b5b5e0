/** The server on Deno does everything that it does on Node. */

import { describeSameAsOnNode } from "../support/runtime-suite.ts";
import { findRuntime } from "../support/runtimes.ts";

const { runtime, missing } = findRuntime("deno");

describeSameAsOnNode("Deno", runtime, missing);
