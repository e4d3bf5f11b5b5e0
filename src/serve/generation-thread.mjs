// Starts generation-thread.ts: as it is where the runtime takes TypeScript, else through tsx. Node 20 cannot start a
// worker from a .ts file, not even under tsx.
import { takesTypeScript } from "./takes-typescript.mjs";

if (!takesTypeScript) {
  const { register } = await import("tsx/esm/api");
  register();
}
await import("./generation-thread.ts");
