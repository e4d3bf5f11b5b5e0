// Starts counting-thread.ts; src/util/process/typescript.mjs tells why.
import "../../src/util/process/typescript.mjs";

await import("./counting-thread.ts");
