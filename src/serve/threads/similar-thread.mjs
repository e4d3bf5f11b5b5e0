// Starts similar-thread.ts; generation-thread.mjs tells why.
import "../process/typescript.mjs";

await import("./similar-thread.ts");
