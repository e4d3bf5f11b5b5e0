// Starts generation-thread.ts: as it is where the runtime takes TypeScript (Deno, Bun, Node from 22.18 outside
// node_modules), else through tsx. Node 20 cannot start a worker from a .ts file, not even under tsx.
const isNode = !("Deno" in globalThis || "Bun" in globalThis);
const takesTypeScript = process.features.typescript && !import.meta.url.includes("/node_modules/");

if (isNode && !takesTypeScript) {
  const { register } = await import("tsx/esm/api");
  register();
}
await import("./generation-thread.ts");
