/** `orrery serve` runs the server; `orrery demo`, which is `npm start`, runs it with the sample and a temporary key. */

import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeKey } from "../auth/keys-file.ts";
import { addressForMessages, makeTemporaryFolder } from "../files/folders.ts";
import { whyNoSharing } from "../http/port.ts";
import { sampleFolder } from "../install/package.ts";
import { isSocketPlace, placeText } from "../model/socket-place.ts";
import type { Observe } from "../observe/events.ts";
import { withPriority } from "../observe/log/journal.ts";
import { createLog } from "../observe/log/log.ts";
import { findSource } from "../server/load/source.ts";
import { type RunningServer, type ServerOptions, startServer, threadsFrom } from "../server/server.ts";
import { defaultsOf, type Setting, settingsOf, variableOf } from "../settings/settings.ts";
import { nearest } from "../util/distance.ts";
import { releaseSignals } from "../util/process/early-signals.ts";
import { codeOf } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";
import type { CommandIo, Program } from "./command.ts";
import { type Console, openConsole } from "./console.ts";
import { takeInherited } from "./inherited.ts";
import { CommandError, failureAt, type Options, readPrefixes, UsageError } from "./options.ts";
import { type ProgressBar, startProgress } from "./terminal.ts";

/** Opens console and log. A log on the terminal of the listening line does not repeat that line. */
function openLog(
  { values }: Options<"serve"> | Options<"demo">,
  { environment }: CommandIo,
  { tables }: Program,
) {
  const console = openConsole(values.logFormat, environment.JOURNAL_STREAM);
  const unsaid = new Set(console.isOneTerminal ? (["listening"] as const) : []);
  return { console, observe: createLog(tables.events, values.logLevel, console.log, unsaid) };
}

async function start(
  options: ServerOptions,
  { columns }: CommandIo,
  console: Console,
): Promise<RunningServer> {
  const place = { isTerminal: console.takesStatus, complain: console.status, columns };
  const download = startProgress(place, `downloading ${options.settings.snapshot}`, "checking");
  const bar = startProgress(place, `loading ${options.settings.snapshot}`);
  let isOver = false;
  const showing = (one: ProgressBar) => (share: number) => isOver || one.show(share);
  try {
    const shown = { onDownload: showing(download), onProgress: showing(bar) };
    return await startServer({ ...options, startsHere: true, ...shown });
  } catch (error) {
    const { host, port } = options.settings;
    const where = `cannot listen on ${placeText(host, port)}`;
    if (error instanceof PlaceError) throw new CommandError(`${where}: ${error.message}`);
    if (!isSocketPlace(host) && codeOf(error) === "EADDRINUSE")
      throw new CommandError(
        `${where}: the port is in use; choose another with --port or ${variableOf("port")}`,
      );
    throw failureAt(where, error);
  } finally {
    // Later loads run while the server serves; the log reports them.
    isOver = true;
    download.end();
    bar.end();
    // The next output goes elsewhere, and belongs below the log.
    await console.flush();
  }
}

/** Exit status of a process that a signal ended, by convention. */
const SIGNAL_STATUS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

const DEADLINE_MS = 8500;

/** Handles signals that {@link deferSignals} held back: one during the start ends the process. @param endsWithTerminal whether SIGHUP stops the server @returns hands later ones to the server */
export function takeSignals(
  io: CommandIo,
  { console, observe }: ReturnType<typeof openLog>,
  endsWithTerminal = false,
): (server: RunningServer) => void {
  let server: RunningServer | undefined;
  let isStopping = false;
  const stop = async (signal: keyof typeof SIGNAL_STATUS): Promise<void> => {
    if (isStopping) io.exit(SIGNAL_STATUS[signal]);
    isStopping = true;
    setTimeout(() => io.exit(0), DEADLINE_MS).unref();
    if (server !== undefined) await server.stop(signal);
    else {
      // No request waits for an answer yet.
      observe({ kind: "stopping", signal });
      observe({ kind: "stopped", ms: 0 });
    }
    await console.flush();
    // A load that still runs must not keep the process alive.
    io.exit(0);
  };
  releaseSignals((signal) => {
    if (signal === "SIGINT" || signal === "SIGTERM" || (endsWithTerminal && signal === "SIGHUP"))
      void stop(signal);
    // Ignored while the first snapshot loads: there is nothing to reload.
    else if (signal === "SIGHUP") void server?.reload();
    else observe({ kind: "signal-ignored", signal });
  });
  return (running) => {
    server = running;
  };
}

/** @throws {UsageError} when the settings share a port and this system cannot, or there is none */
function checkSharing({ values, names }: Options<"serve">): void {
  const why = isSocketPlace(values.host)
    ? "not with a Unix socket or one that was handed over, which only one thread of one process can listen at"
    : whyNoSharing();
  if (why === undefined) return;
  if (threadsFrom(values.threads) > 1) throw new UsageError(`${names.threads}: more than one ${why}`);
  if (values.sharePort) throw new UsageError(`${names.sharePort}: ${why}`);
}

const PREFIX = "ORRERY_";

/**
 * Reports each variable that no command reads, with a similar one that is read, if any: a mistyped name would otherwise
 * silently leave its setting at the default. Empty variables count as absent.
 */
export function reportUnknownVariables(
  environment: CommandIo["environment"],
  settings: readonly Setting[],
  observe: Observe,
): void {
  // A server reads every variable that any command reads.
  const known = settingsOf(settings, "serve").map(({ flag }) => variableOf(flag));
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || !value || known.includes(variable)) continue;
    // Compared without the common prefix, which would make all names alike.
    const meant = nearest(
      variable.slice(PREFIX.length),
      known.map((name) => name.slice(PREFIX.length)),
    );
    const help = meant === undefined ? {} : { meant: PREFIX + meant };
    observe({ kind: "variable-unknown", variable, ...help });
  }
}

/** Starts a server, which runs until a signal stops it. @returns the server, and what prints further lines */
async function runServer(
  options: Options<"serve"> | Options<"demo">,
  io: CommandIo,
  program: Program,
  own: Pick<ServerOptions, "settings" | "source" | "sharedLimits" | "admin">,
  isDemo = false,
) {
  const log = openLog(options, io, program);
  const { console, observe } = log;
  const handTo = takeSignals(io, log, isDemo);
  reportUnknownVariables(io.environment, program.settings, observe);
  // Settings that the user relies on but that have no effect here.
  for (const found of options.withoutEffect) observe({ kind: "settings-without-effect", ...found });
  // In a log for people, requests get the same kind of lines as other observations.
  const { isPretty, isJournal, write } = console.log;
  const writeLines = (text: string) => write(isJournal ? withPriority("info", text) : text, true);
  const writeAccess = isPretty ? undefined : writeLines;
  const { features, tables } = program;
  const started = { ...own, features, tables, observe, writeAccess, watchLog: console.log.watch };
  const server = await start(started, io, console);
  handTo(server);
  await console.announce(`orrery listening on ${server.url} generation=${server.generation()}\n`);
  return { ...server, announce: console.announce };
}

export async function serve(given: Options<"serve">, io: CommandIo, program: Program): Promise<void> {
  const inherited = takeInherited(io.environment, io.pid);
  const values = { ...given.values, host: inherited.api ?? given.values.host };
  const options = { ...given, values };
  const names: Readonly<Record<string, string>> = options.names;
  readPrefixes(options);
  const source = await findSource(program.features.findSource, {
    snapshot: values.snapshot,
    settings: values,
    nameOf: (name) => names[name]!,
    command: io.self,
    cacheHome: () => io.environment.XDG_CACHE_HOME,
  });
  checkSharing(options);
  const sharedLimits = await program.features.shareLimits?.(values);
  const admin = await program.readAdmin?.(options, false, inherited.admin);
  // The source has the whole URL; everything else may show it.
  const settings =
    source === undefined ? values : { ...values, snapshot: addressForMessages(values.snapshot) };
  await runServer(options, io, program, { settings, source, sharedLimits, admin });
}

/** Makes a temporary folder for the keys, and perhaps the sample. */
async function makePlace(prefix: string): Promise<{ keys: string; token: string; sample: string }> {
  try {
    const folder = await makeTemporaryFolder("demo");
    const { token, record } = makeKey({ name: "demo", kind: "api", prefix });
    const keys = join(folder, "keys.json");
    // Without a lock: no other process knows the folder, and nothing in it has to last.
    await writeFile(keys, JSON.stringify({ keys: [record] }), { mode: 0o600 });
    return { keys, token, sample: sampleFolder(folder) };
  } catch (error) {
    throw failureAt(`cannot write to the temporary folder ${tmpdir()}`, error);
  }
}

export async function demo(options: Options<"demo">, io: CommandIo, program: Program): Promise<void> {
  const admin = await program.readAdmin?.(options, true);
  const { values } = options;
  const { api } = readPrefixes(options);
  const { keys, token, sample } = await makePlace(api);
  const settings = { ...defaultsOf(program.settings), ...values, snapshot: sample, keys };
  const own = { settings, admin };
  const { url, adminUrl, pagesUrl, announce } = await runServer(options, io, program, own, true);
  await announce(`curl -s -H 'Authorization: Bearer ${token}' '${url}/worlds?limit=3'\n`);
  if (adminUrl !== undefined) await announce(`orrery admin on ${adminUrl}\n`);
  if (pagesUrl !== undefined) await announce(`API reference on ${pagesUrl}\n`);
}
