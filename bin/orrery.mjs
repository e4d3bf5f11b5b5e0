#!/usr/bin/env node
// The installed command. Node 20 takes no TypeScript, and no Node takes any inside node_modules: then tsx does it.
if (!process.features.typescript || import.meta.url.includes("/node_modules/")) {
  const { register } = await import("tsx/esm/api");
  register();
}
await import("../src/main.ts");
