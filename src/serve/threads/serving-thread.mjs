// Starts serving-thread.ts; generation-thread.mjs tells why.
import "../process/typescript.mjs";

await import("./serving-thread.ts");
