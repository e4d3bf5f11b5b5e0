/** The server on Deno: all that it does on Node. */

import { findRuntime } from "../support/other-runtime.ts";
import { describeSameAsOnNode } from "../support/runtime-suite.ts";

const { runtime, missing } = findRuntime("deno");

describeSameAsOnNode("Deno", runtime, missing);
