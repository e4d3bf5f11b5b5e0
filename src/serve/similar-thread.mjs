// Starts similar-thread.ts; generation-thread.mjs tells why.
import "./typescript.mjs";

await import("./similar-thread.ts");
