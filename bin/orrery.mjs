#!/usr/bin/env -S node --v8-pool-size=1
// One helper thread for V8: its default of four crowds out the serving thread while a snapshot loads, and none of them
// steps back as the loading thread does. With one the slowest request in a thousand took 9 ms in a reload instead of 15.

// As in all files up to the program itself, nothing here is too new for an old Node, which is to say that it is old.
// biome-ignore lint/style/useNodejsImportProtocol: old versions of Node do not know it.
import { existsSync } from "fs";

// A checkout runs its sources, however old what was built of them is; the package has none.
const isCheckout = existsSync(new URL("../src/main.ts", import.meta.url));
import(isCheckout ? "../src/install/launch.mjs" : "../dist/main.js")
  .then((launch) => {
    if (!launch.isWhole) throw new Error("dist/main.js is empty");
  })
  .catch((error) => {
    process.exitCode = 1;
    process.stderr.write(`orrery: the installation is damaged, install it again: ${error.message}\n`);
  });
