/** `orrery serve`: the server. */

import { refuseForeign } from "../auth/counts-file.ts";
import { KeysFileError } from "../auth/keys.ts";
import { ForeignFileError } from "../files/foreign.ts";
import { whyNoSharing } from "../http/port.ts";
import { httpFrom } from "../http/server.ts";
import type { Observe } from "../observe/events.ts";
import { createLog } from "../observe/log/log.ts";
import { AdminListenError } from "../server/admin.ts";
import { type RunningServer, type ServerOptions, startServer, threadsFrom } from "../server/server.ts";
import { ServingThreadError } from "../server/threads/serving-threads.ts";
import { SettingError } from "../settings/setting-error.ts";
import { SnapshotError } from "../snapshot/refusals.ts";
import {
  IGNORED_SIGNALS,
  REOPEN_SIGNAL,
  releaseSignals,
  STOP_SIGNALS,
} from "../util/process/early-signals.ts";
import { codeOf, systemErrorText } from "../util/system-error.ts";
import type { CommandIo, Program } from "./command.ts";
import { type Console, openConsole } from "./console.ts";
import {
  CommandError,
  nameSetting,
  type Options,
  ProblemsError,
  readPrefixes,
  UsageError,
} from "./options.ts";
import { startProgress } from "./progress.ts";
import { sourceOf } from "./source.ts";
import { reportUnknownVariables } from "./variables.ts";

/** The log of a server. Where it would stand beside the listening line, it does not say that once more. */
export function openLog(options: Options<"serve" | "demo">, { log, isOneTerminal }: Console): Observe {
  return createLog(options.values.logLevel, log, new Set(isOneTerminal ? (["listening"] as const) : []));
}

/** What takes lines of the access log; undefined where people read it, who get them like others. */
export function accessWriter({ log }: Console): ServerOptions["writeAccess"] {
  return log.isPretty ? undefined : (lines) => log.write(lines, true);
}

/** Starts a server, or says in one line (or a line a problem) why not. @param names of its settings, for messages */
export async function start(
  options: ServerOptions,
  names: Readonly<Record<string, string>>,
  { columns }: CommandIo,
  console: Console,
): Promise<RunningServer> {
  const place = { isTerminal: console.isTerminal, complain: console.status, columns };
  const download = startProgress(place, `downloading ${options.settings.snapshot}`, "checking");
  const bar = startProgress(place, `loading ${options.settings.snapshot}`);
  let isOver = false;
  try {
    return await startServer({
      ...options,
      startsHere: true,
      onDownload: (share) => {
        if (!isOver) download.show(share);
      },
      onProgress: (share) => {
        if (!isOver) bar.show(share);
      },
    });
  } catch (error) {
    if (error instanceof SnapshotError) throw new ProblemsError(error.problems);
    const isTold = [KeysFileError, ServingThreadError, AdminListenError].some(
      (kind) => error instanceof kind,
    );
    if (isTold) throw new CommandError((error as Error).message);
    if (error instanceof SettingError) throw nameSetting(error, names);
    const words = systemErrorText(error);
    if (words !== undefined) {
      const { host, port } = options.settings;
      const why = codeOf(error) === "EADDRINUSE" ? "the port is in use; choose another with --port" : words;
      throw new CommandError(`cannot listen on ${host} port ${port}: ${why}`);
    }
    throw error;
  } finally {
    // Later loads go on behind a running server and are the log's matter.
    isOver = true;
    download.end();
    bar.end();
    // What is said next is said elsewhere, and belongs below the log.
    await console.flush();
  }
}

/** Exit status of a process that a signal ended, by convention. */
const SIGNAL_STATUS = { SIGINT: 130, SIGTERM: 143 } as const;

/** What the process's signals do: nothing much while it starts, then what the server can do. */
export interface Signals {
  /** From now on signals go to the server; resolves when one has stopped it. */
  readonly handTo: (server: RunningServer) => Promise<void>;
}

/** Takes over what {@link holdSignals} held. */
export function takeSignals(io: CommandIo, observe: Observe, console: Console): Signals {
  let server: RunningServer | undefined;
  let stopping = false;
  let stopped = (_done: Promise<void>): void => {};
  // While the first snapshot loads there is nothing to read again.
  process.on("SIGHUP", () => void server?.reload());
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (stopping) io.exit(SIGNAL_STATUS[signal]);
      stopping = true;
      if (server !== undefined) {
        stopped(server.stop(signal));
        return;
      }
      // There is nobody to answer yet.
      observe({ kind: "stopping", signal });
      observe({ kind: "stopped", ms: 0 });
      void console.flush().finally(() => io.exit(0));
    });
  }
  const ignore = (signal: NodeJS.Signals): void => observe({ kind: "signal-ignored", signal });
  const { reopenLog } = console;
  const reopen = async (): Promise<void> => {
    const problem = await reopenLog?.();
    observe(problem === undefined ? { kind: "log-reopened" } : { kind: "log-reopen-failed", problem });
  };
  for (const signal of IGNORED_SIGNALS) {
    process.on(signal, signal === REOPEN_SIGNAL && reopenLog !== undefined ? reopen : ignore);
  }
  for (const signal of releaseSignals()) ignore(signal);
  return {
    handTo(running) {
      server = running;
      return new Promise((resolve) => {
        stopped = resolve;
      });
    },
  };
}

/** The line that says that requests are accepted. */
export function listeningLine(server: RunningServer): string {
  return `orrery listening on ${server.url} generation=${server.generation()}\n`;
}

/** Refuses to share a port where that cannot be. @throws {UsageError} */
function checkSharing({ values, names }: Options<"serve">): void {
  const why = whyNoSharing();
  if (why === undefined) return;
  if (threadsFrom(values.threads) > 1) throw new UsageError(`${names.threads}: more than one ${why}`);
  if (values.sharePort) throw new UsageError(`${names.sharePort}: ${why}`);
}

/** Tells of settings that somebody relies on and that do nothing here. */
export function reportWithoutEffect({ withoutEffect }: Options<"serve" | "demo">, observe: Observe): void {
  for (const found of withoutEffect) observe({ kind: "settings-without-effect", ...found });
}

/** Refuses a file of counts that is a file of something else. What cannot be read yet is the log's matter. @throws {CommandError} */
async function checkCountsFile({ values: { state: file }, names }: Options<"serve">): Promise<void> {
  if (file === undefined) return;
  await refuseForeign(file).catch((error: unknown) => {
    if (!(error instanceof ForeignFileError)) return;
    throw new CommandError(`${names.state}: ${file}: ${error.message}; name a file of its own`);
  });
}

/** Runs the command. */
export async function serve(options: Options<"serve">, io: CommandIo, program: Program): Promise<void> {
  const { values, names } = options;
  const console = await openConsole(values.logFile, values.logFormat);
  const observe = openLog(options, console);
  readPrefixes(options);
  const { features } = program;
  const source = await sourceOf(values.snapshot, values, names, io, program);
  checkSharing(options);
  await checkCountsFile(options);
  const started: ServerOptions = {
    settings: values,
    ...{ features, source },
    sharedLimits: await features.shareLimits?.(values).catch((error: unknown) => {
      throw nameSetting(error, names);
    }),
    admin: await program.readAdmin?.(options, false),
    http: httpFrom(values),
    observe,
    writeAccess: accessWriter(console),
  };
  const signals = takeSignals(io, observe, console);
  reportUnknownVariables(io.environment, program.settings, observe);
  reportWithoutEffect(options, observe);
  const server = await start(started, names, io, console);
  const stopped = signals.handTo(server);
  await console.announce(listeningLine(server));
  await stopped;
  await console.flush();
  // A load that is still under way must not keep the process.
  io.exit(0);
}
