// Starts serving-thread.ts; generation-thread.mjs tells why.
import { takesTypeScript } from "./takes-typescript.mjs";

if (!takesTypeScript) {
  const { register } = await import("tsx/esm/api");
  register();
}
await import("./serving-thread.ts");
