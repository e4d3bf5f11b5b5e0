/** Listening on Bun: `Bun.serve`, its limits, and a shutdown as gentle as it allows. */

import * as nodeHttp from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { State } from "../../answer.ts";
import { type BunAdapter, type BunServer, createBunAdapter } from "../../edge/bun.ts";
import { DEADLINE_MS, GIVE_UP_MS, GRACE_MS, type HttpLimits, type Listener } from "./http.ts";
import { type Sharing, whileAlone } from "./port.ts";

interface ListeningServer extends BunServer {
  readonly address: AddressInfo;
  /** Listens no more and ends idle connections at once; resolves when those with a request under way are gone, too. */
  readonly stop: (closesAll?: boolean) => Promise<void>;
}

/** What is used of Bun's global object. */
interface Bun {
  readonly serve: (
    options: Pick<BunAdapter, "routes" | "fetch"> & {
      readonly hostname: string;
      readonly port: number;
      readonly reusePort: boolean;
      /** Seconds. */
      readonly idleTimeout: number;
      readonly maxRequestBodySize: number;
      readonly development: boolean;
    },
  ) => ListeningServer;
}

const { Bun: bun } = globalThis as typeof globalThis & { readonly Bun: Bun };

/** Longest idle time that Bun takes, in seconds. */
const MOST_IDLE_SECONDS = 255;

/** Makes a listener; it does not listen yet. */
export function createBunListener(state: State, limits: HttpLimits): Listener {
  const adapter = createBunAdapter(state);
  let server: ListeningServer | undefined;
  const bind = (hostname: string, port: number, sharing: Sharing): AddressInfo => {
    // Bun has one limit for all servers of the process, and takes it from here.
    (nodeHttp as unknown as { default: { maxHeaderSize: number } }).default.maxHeaderSize =
      limits.maxHeadBytes;
    server = bun.serve({
      routes: adapter.routes,
      fetch: adapter.fetch,
      hostname,
      port,
      reusePort: sharing !== "alone",
      // Zero would be no limit at all.
      idleTimeout: Math.min(Math.max(Math.ceil(limits.keepAliveTimeout / 1000), 1), MOST_IDLE_SECONDS),
      // No body is taken, and all are refused in words of our own.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      development: false,
    });
    return server.address;
  };
  return {
    async listen(host, port, sharing) {
      const listenThere = async (): Promise<AddressInfo> => bind(host, port, sharing);
      return sharing === "threads" ? await whileAlone(host, port, listenThere) : await listenThere();
    },
    // Bun would end idle connections with it, and requests that cross the end would be lost.
    async stopListening() {},
    async leave() {
      adapter.startDraining();
      await sleep(GRACE_MS);
      const giveUp = setTimeout(adapter.giveUpWork, GIVE_UP_MS - GRACE_MS);
      const stopped = server?.stop();
      await Promise.race([stopped, sleep(DEADLINE_MS - GRACE_MS)]);
      clearTimeout(giveUp);
      void server?.stop(true);
    },
  };
}
