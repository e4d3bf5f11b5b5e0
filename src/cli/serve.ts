/** `orrery serve`: the server. */

import { KeysFileError } from "../gate/keys.ts";
import { createLog } from "../serve/log.ts";
import { type RunningServer, type ServerOptions, startServer } from "../serve/server.ts";
import { SnapshotError } from "../serve/snapshots.ts";
import { problemWithPrefixes } from "../settings.ts";
import type { World } from "./commands.ts";
import { CommandError, type Options, ProblemsError, UsageError } from "./options.ts";

/** The server's options from the command's settings, for any snapshot and keys. */
export function serverOptions(options: Options, snapshot: string, keys: string): ServerOptions {
  const prefixes = { api: options.text("api-key-prefix"), cli: options.text("cli-token-prefix") };
  const problem = problemWithPrefixes(prefixes.api, prefixes.cli);
  if (problem !== undefined) throw new UsageError(problem);
  const milliseconds = (flag: string): number => Math.round(options.number(flag) * 1000);
  return {
    snapshot,
    keys,
    prefixes,
    host: options.text("host"),
    port: options.integer("port"),
    rateLimit: options.integer("rate-limit"),
    rateWindow: options.integer("rate-window"),
    cors: options.text("cors") === "on",
    watch: options.number("watch"),
    maxSnapshotBytes: options.integer("max-snapshot-bytes"),
    searchCacheBytes: options.integer("search-cache-bytes"),
    accessLog: options.flag("access-log"),
    http: {
      headersTimeout: milliseconds("headers-timeout"),
      requestTimeout: milliseconds("request-timeout"),
      checkInterval: milliseconds("timeout-check-interval"),
      keepAliveTimeout: milliseconds("keep-alive-timeout"),
      socketTimeout: milliseconds("socket-timeout"),
      maxHeadBytes: options.integer("max-head-bytes"),
      maxRequestsPerSocket: options.integer("max-requests-per-socket"),
    },
    observe: createLog(options.text("log-level")),
  };
}

/** Starts a server, or says in one line (or a line a problem) why not. */
export async function start(options: ServerOptions): Promise<RunningServer> {
  try {
    return await startServer(options);
  } catch (error) {
    if (error instanceof SnapshotError) throw new ProblemsError(error.problems);
    if (error instanceof KeysFileError) throw new CommandError(error.message);
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code !== undefined && syscall !== undefined) {
      throw new CommandError(`cannot listen on ${options.host} port ${options.port}: ${code}`);
    }
    throw error;
  }
}

/** Exit status of a process that a signal ended, by convention. */
const SIGNAL_STATUS = { SIGINT: 130, SIGTERM: 143 } as const;

/** Serves until a signal ends it. */
export async function serveUntilSignal(server: RunningServer, world: World): Promise<void> {
  process.on("SIGHUP", () => void server.reload());
  let stopping = false;
  await new Promise<void>((resolve, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        if (stopping) world.exit(SIGNAL_STATUS[signal]);
        stopping = true;
        server.stop(signal).then(resolve, reject);
      });
    }
  });
}

/** The line that says that requests are accepted. */
export function listeningLine(server: RunningServer): string {
  return `orrery listening on ${server.url} generation=${server.generation()}\n`;
}

/** Runs the command. */
export async function serve(options: Options, world: World): Promise<void> {
  // A SIGHUP while the first snapshot loads must not end the process.
  const ignore = (): void => {};
  process.on("SIGHUP", ignore);
  const server = await start(serverOptions(options, options.text("snapshot"), options.text("keys")));
  const until = serveUntilSignal(server, world);
  process.off("SIGHUP", ignore);
  world.print(listeningLine(server));
  await until;
  // A load that is still under way must not keep the process.
  world.exit(0);
}
