// Starts generation-thread.ts: Node 20 cannot start a worker from a .ts file, not even under tsx.
import "../util/process/typescript.mjs";

await import("./generation-thread.ts");
