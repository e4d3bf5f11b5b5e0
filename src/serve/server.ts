/** The running server: the state, kept current, behind a listener. */

import { BASE_PATH } from "../model.ts";
import { collectGarbage } from "./collect.ts";
import { createHttpServer, drain, type HttpLimits, listen } from "./http.ts";
import { type OpenStateOptions, openState } from "./open.ts";

/** Everything a server needs to know. */
export interface ServerOptions extends OpenStateOptions {
  readonly keys: string;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly http: HttpLimits;
}

/** A server that accepts requests. */
export interface RunningServer {
  /** Base URL of the API. */
  readonly url: string;
  /** Id of the generation being served. */
  readonly generation: () => string;
  /** Reads keys and snapshot again. */
  readonly reload: () => Promise<void>;
  /** Stops without losing a request. */
  readonly stop: (why: string) => Promise<void>;
}

/**
 * Loads, listens, and keeps everything current.
 *
 * @throws {KeysFileError} {@link SnapshotError} or an error of the system, when it cannot start
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { observe } = options;
  const opened = await openState({ ...options, onReleased: collectGarbage });
  const { state } = opened;
  const http = createHttpServer(state, options.http);
  const address = await listen(http, options.host, options.port).catch((error: unknown) => {
    opened.stop();
    opened.close();
    throw error;
  });
  // From here on an error of the listener, such as EMFILE at accept, must not end the process.
  http.server.on("error", (error) => observe({ kind: "defect", where: "listener", error }));

  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  const url = `http://${host}:${address.port}${BASE_PATH}`;
  const generation = (): string => state.generation.store.id;
  observe({ kind: "listening", url, generation: generation() });
  return {
    url,
    generation,
    reload: opened.reload,
    async stop(why) {
      const began = performance.now();
      observe({ kind: "stopping", signal: why });
      opened.stop();
      await drain(http);
      opened.close();
      observe({ kind: "stopped", ms: Math.round(performance.now() - began) });
    },
  };
}
