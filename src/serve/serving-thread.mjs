// Starts serving-thread.ts; generation-thread.mjs tells why.
import "./typescript.mjs";

await import("./serving-thread.ts");
