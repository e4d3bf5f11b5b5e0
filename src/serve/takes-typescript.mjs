// Whether the runtime takes TypeScript here: Deno, Bun, Node from 22.18 outside node_modules.
const isNode = !("Deno" in globalThis || "Bun" in globalThis);
export const takesTypeScript =
  !isNode || (process.features.typescript && !import.meta.url.includes("/node_modules/"));
