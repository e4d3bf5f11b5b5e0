// Starts serving-thread.ts; generation-thread.mjs tells why.
import "../util/process/typescript.mjs";

await import("./serving-thread.ts");
