/**
 * The thread of a generation: loads a folder, packs it into shared memory,
 * indexes it, and then answers its searches until it is ended. It does one
 * generation only, so whatever loading left behind goes with it.
 */

import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { createSearch } from "../search/search.ts";
import { type LoadOptions, loadSnapshot } from "../snapshot/load.ts";
import { reviveStore } from "../store/generation.ts";
import type { SearchRequest, Task, ThreadMessage } from "./thread-messages.ts";

const port = parentPort!;
const NICE = 5;

/** On a busy machine requests go before loading. Best effort: it takes Linux, where threads have priorities. */
function stepBack(): void {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, NICE);
  } catch {}
}

function say(message: ThreadMessage, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

async function run(task: Task): Promise<void> {
  const loaded = task.kind === "load" ? await loadSnapshot(task.folder, optionsOf(task)) : undefined;
  if (loaded?.ok === false) {
    say({ kind: "refused", refused: loaded });
    return;
  }
  const store = task.kind === "index" ? reviveStore(task.store) : loaded!.store;
  const began = performance.now();
  const search = createSearch(store);
  port.on("message", ({ number, name, term }: SearchRequest) => {
    try {
      const rows = search[name](term) as Uint32Array<ArrayBuffer>;
      say({ kind: "found", number, rows }, [rows.buffer]);
    } catch (error) {
      say({ kind: "failed", number, message: String(error) });
    }
  });
  say({ kind: "ready", loaded, indexMs: performance.now() - began });
}

function optionsOf({ maxBytes }: Extract<Task, { kind: "load" }>): LoadOptions {
  let told = 0;
  const onProgress = (share: number): void => {
    if (share < 1 && share - told < 0.01) return;
    told = share;
    say({ kind: "progress", share });
  };
  return maxBytes === undefined ? { onProgress } : { onProgress, maxBytes };
}

stepBack();
await run(workerData as Task);
