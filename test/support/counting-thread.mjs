// Starts counting-thread.ts; src/serve/typescript.mjs tells why.
import "../../src/serve/typescript.mjs";

await import("./counting-thread.ts");
