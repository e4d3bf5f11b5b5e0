#!/usr/bin/env -S node --v8-pool-size=1
// One helper thread for V8: its default of four crowds out the serving thread while a snapshot loads, and none of them
// steps back as the loading thread does. With one the slowest request in a thousand took 9 ms in a reload instead of 15.
import "../src/serve/typescript.mjs";

await import("../src/main.ts");
