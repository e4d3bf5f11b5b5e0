#!/usr/bin/env -S node --v8-pool-size=1
// One helper thread for V8: its default of four crowds out the serving thread while a snapshot loads, and none of them
// steps back as the loading thread does. With one the slowest request in a thousand took 9 ms in a reload instead of 15.
import { existsSync } from "node:fs";

// A checkout runs its sources, however old what was built of them is; the package has none.
if (existsSync(new URL("../src/main.ts", import.meta.url))) {
  await import("../src/serve/typescript.mjs");
  await import("../src/main.ts");
} else {
  await import("../dist/main.js");
}
