// Starts similar-thread.ts; generation-thread.mjs tells why.
import "../util/process/typescript.mjs";

await import("./similar-thread.ts");
