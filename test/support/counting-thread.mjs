// Starts counting-thread.ts; src/serve/process/typescript.mjs tells why.
import "../../src/serve/process/typescript.mjs";

await import("./counting-thread.ts");
