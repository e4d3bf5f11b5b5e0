// Lets what is imported next be TypeScript: Deno, Bun, and Node from 22.18 outside node_modules take it as it is; for
// any other Node tsx does it.
const isNode = !("Deno" in globalThis || "Bun" in globalThis);
const takesTypeScript = process.features.typescript && !import.meta.url.includes("/node_modules/");

if (isNode && !takesTypeScript) {
  const { register } = await import("tsx/esm/api");
  register();
}
