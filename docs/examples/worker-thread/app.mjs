import { once } from "node:events";
import { Worker } from "node:worker_threads";

const worker = new Worker(new URL("./worker.mjs", import.meta.url));
worker.postMessage("/api/public/v1/stats");
const [reply] = await once(worker, "message");
console.log(reply.status, reply.body);
worker.postMessage("close");
