/**
 * A thread that serves: the same port as the others, the same store and index,
 * the same counters. Searches that take long go to the main thread, which knows
 * who can do them.
 */

import { parentPort, workerData } from "node:worker_threads";
import type { State } from "../answer.ts";
import { KeyRing } from "../gate/keys.ts";
import { createFixedHeaders } from "../headers.ts";
import { observeSearches, withCache } from "../search/cache.ts";
import { openSearch } from "../search/search.ts";
import { createGeneration, type Found, type Generation, reviveStore } from "../store/generation.ts";
import { collectGarbage, RELEASE_MS } from "./collect.ts";
import { createHttpServer, leave, listen, stopListening } from "./http.ts";
import { type AskForPage, createFarSearch, createNearSearch } from "./near-search.ts";
import { createBatchSender } from "./observation-batches.ts";
import type { FromServing, NumberedStore, ServingTask, ToServing } from "./serving-messages.ts";

const port = parentPort!;
const task = workerData as ServingTask;

function say(message: FromServing): void {
  port.postMessage(message);
}

const observations = createBatchSender((batch) => say({ kind: "observations", ...batch }));
const { observe } = observations;

interface Waiting {
  readonly resolve: (found: Found | undefined) => void;
  readonly reject: (error: Error) => void;
}

const waiting = new Map<number, Waiting>();
let questions = 0;

let tellOfCache = (): void => {};

function take({ number, store, index }: NumberedStore): Generation {
  const ask: AskForPage = (name, term, { limit, offset }) =>
    new Promise((resolve, reject) => {
      const question = questions++;
      waiting.set(question, { resolve, reject });
      say({ kind: "search", question, generation: number, name, term, page: { limit, offset } });
    });
  const searches = openSearch(index);
  const search = withCache(createNearSearch(searches, createFarSearch(searches, ask)), task.cacheBytes);
  tellOfCache = () => observeSearches(observe, store.id, search.counts());
  return createGeneration(reviveStore(store), search);
}

const state: State = {
  gate: {
    prefixes: task.prefixes,
    defaultLimit: task.rateLimit,
    counters: task.counters,
    keys: new KeyRing(task.keys),
  },
  headers: createFixedHeaders(task.cors),
  observe,
  accessLog: task.accessLog,
  generation: take(task.generation),
};
const http = createHttpServer(state, task.http);

/** A stop may begin before it listens. */
const started = startListening();

port.on("message", async (message: ToServing) => {
  switch (message.kind) {
    case "keys":
      state.gate.keys = new KeyRing(message.keys);
      break;
    case "generation":
      tellOfCache();
      state.generation = take(message.generation);
      say({ kind: "taken", generation: message.generation.number });
      setTimeout(collectGarbage, RELEASE_MS).unref();
      break;
    case "found":
      waiting.get(message.question)?.resolve(message.found);
      waiting.delete(message.question);
      break;
    case "failed":
      waiting.get(message.question)?.reject(new Error(message.message));
      waiting.delete(message.question);
      break;
    case "stop-listening":
      await started;
      await stopListening(http);
      say({ kind: "stopped-listening" });
      break;
    case "observed":
      observations.taken();
      break;
    case "drain":
      await leave(http);
      tellOfCache();
      observations.flush();
      say({ kind: "drained" });
      break;
  }
});

async function startListening(): Promise<void> {
  try {
    const address = await listen(http, task.host, task.port, task.sharing);
    // From here on an error of the listener, such as EMFILE at accept, must not end the thread.
    http.server.on("error", (error) => observe({ kind: "defect", where: "listener", error }));
    say({ kind: "listening", address });
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    say({ kind: "not-listening", code, message });
  }
}
