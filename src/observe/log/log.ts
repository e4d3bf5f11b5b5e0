/** The log: observations as pino lines on stderr, JSON for machines, plain text on a terminal. */

import { type Logger, pino } from "pino";
import { FAULTS } from "../../model/fault.ts";
import type { Observation, Observe } from "../events.ts";

type Level = "info" | "warn" | "error";

const LEVELS: Readonly<Record<Observation["kind"], Level>> = {
  listening: "info",
  "admin-listening": "info",
  stopping: "info",
  stopped: "info",
  "snapshot-loaded": "info",
  "snapshot-unchanged": "info",
  "snapshot-shrunk": "warn",
  "snapshot-refused": "error",
  "search-cache": "info",
  "source-downloaded": "info",
  "source-failed": "warn",
  "source-recovered": "info",
  "source-damaged": "warn",
  "similar-ready": "info",
  "similar-failed": "error",
  "thread-died": "error",
  "thread-replaced": "info",
  "connections-refused": "warn",
  "keys-loaded": "info",
  "keys-warned": "warn",
  "keys-unchanged": "info",
  "keys-refused": "error",
  "state-restored": "info",
  "state-refused": "warn",
  "state-failed": "error",
  "state-recovered": "info",
  "limits-away": "error",
  "limits-back": "info",
  request: "info",
  "key-limited": "info",
  "bad-tokens": "warn",
  "log-lines-dropped": "warn",
  "log-reopened": "info",
  "log-reopen-failed": "error",
  "variable-unknown": "warn",
  "settings-without-effect": "warn",
  "signal-ignored": "info",
  defect: "error",
};

function levelOf(observation: Observation): Level {
  // Nobody gets in.
  if (observation.kind === "keys-loaded" && observation.keys === 0) return "warn";
  // The server was off for a while.
  if (observation.kind === "state-refused" && observation.isOld) return "info";
  // Nothing is wrong yet.
  if (observation.kind === "snapshot-refused" && observation.changing) return "warn";
  return LEVELS[observation.kind];
}

function messageOf(observation: Observation): string {
  switch (observation.kind) {
    case "listening":
      return "listening";
    case "admin-listening":
      return "admin listener listening";
    case "stopping":
      return `stopping on ${observation.signal}`;
    case "stopped":
      return "stopped";
    case "snapshot-loaded":
      return "snapshot loaded";
    case "snapshot-unchanged":
      return "snapshot unchanged";
    case "snapshot-shrunk":
      return `snapshot has less than half of the ${observation.table} served before`;
    case "snapshot-refused":
      return observation.changing
        ? "snapshot changed while it was being read and will be read again, still serving the previous generation"
        : "snapshot refused, still serving the previous generation";
    case "search-cache":
      return "search cache closed with its generation";
    case "source-downloaded":
      return "snapshot downloaded";
    case "source-failed":
      return "the snapshot's source cannot be used, going on with the copy";
    case "source-recovered":
      return "the snapshot's source can be used again";
    case "source-damaged":
      return "the copy of the snapshot is damaged, downloading it again";
    case "similar-ready":
      return "similar search ready";
    case "similar-failed":
      return "similar search cannot be indexed, answering as the exact search does";
    case "thread-died":
      return `${observation.role} thread died, restarting it`;
    case "thread-replaced":
      return `${observation.role} thread restarted`;
    case "connections-refused":
      return "connections refused: there are as many as the limit of open files (ulimit -n) allows";
    case "keys-loaded":
      return observation.keys === 0
        ? "keys loaded, but the file has none: every request will be answered with 401"
        : "keys loaded";
    case "keys-warned":
      return "the keys file may not be what is meant";
    case "keys-unchanged":
      return "keys unchanged";
    case "keys-refused":
      return "keys file refused, the previous keys stay in force";
    case "state-restored":
      return "counts of the running window taken up";
    case "state-refused":
      return "the file of counts cannot be used and will be replaced, counting anew";
    case "state-failed":
      return "counts cannot be saved, trying again";
    case "state-recovered":
      return "counts are saved again";
    case "limits-away":
      return observation.alone
        ? "the server of shared limits cannot be asked, counting alone within this replica's share"
        : "the server of shared limits cannot be asked, refusing requests without a permit";
    case "limits-back":
      return "the server of shared limits can be asked again";
    case "request":
      return "request";
    case "key-limited":
      return `key ${observation.keyId} (${observation.name}) has used up its window`;
    case "bad-tokens":
      return `bad tokens from one address, the last one: ${FAULTS[observation.fault].message}`;
    case "log-lines-dropped":
      return "log lines were dropped";
    case "log-reopened":
      return "log file opened";
    case "log-reopen-failed":
      return "log file cannot be opened again, going on with the one before";
    case "variable-unknown":
      return `${observation.variable} is not a setting${observation.meant === undefined ? "" : `; did you mean ${observation.meant}?`}`;
    case "settings-without-effect":
      return `${observation.settings.join(", ")}: without effect ${observation.why}`;
    case "signal-ignored":
      return `${observation.signal} ignored`;
    case "defect":
      return "defect";
  }
}

function fieldsOf(observation: Observation): Record<string, unknown> {
  const { kind, ...fields } = observation;
  if (observation.kind !== "defect") return { event: kind, ...fields };
  const { error } = observation;
  // Name, message and stack only: an error's other properties could hold anything.
  const err =
    error instanceof Error ? { name: error.name, message: error.message, stack: error.stack } : String(error);
  return { event: kind, where: observation.where, err };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** A value for a terminal, which would obey control characters. */
function plain(value: unknown): string {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.replace(CONTROL, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Text for people: a line, and below it one for each problem. */
function prettyLine(line: string): string {
  const { time, level, msg, event, problems, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest)
    .map(([name, value]) => `${name}=${plain(value)}`)
    .join(" ");
  const below = Array.isArray(problems) ? problems.map((problem) => `  ${plain(problem)}\n`) : [];
  return `${String(time)} ${String(level).toUpperCase().padEnd(5)} ${plain(msg)} ${fields}\n${below.join("")}`;
}

/** Where log lines go; a {@link Sink} outside tests. */
export interface LogSink {
  readonly isTTY?: boolean;
  /** @param isBulk one of very many, which may be dropped before others are */
  write(text: string, isBulk?: boolean): unknown;
  onDropped?(listener: (lines: number) => void): void;
}

/** Every line of a log in a file begins like this. */
export const LOG_BEGINNING = '{"level":"';

/** What is logged whatever the level: the access log has a setting of its own, and gaps in the log are never silent. */
const ALWAYS: ReadonlySet<Observation["kind"]> = new Set(["request", "log-lines-dropped"]);

/**
 * Makes the log's listener.
 *
 * @param level least severe lines to write, or "silent"; requests are written at any
 * @param omitted what is not logged
 */
export function createLog(
  level: string,
  sink: LogSink,
  omitted: ReadonlySet<Observation["kind"]> = new Set(),
): Observe {
  let isBulk = false;
  const write = (line: string): void => {
    sink.write(sink.isTTY ? prettyLine(line) : line, isBulk);
  };
  const logger: Logger = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      messageKey: "msg",
    },
    { write },
  );
  const unfiltered = logger.child({}, { level: "info" });
  const observe: Observe = (observation) => {
    const { kind } = observation;
    if (omitted.has(kind)) return;
    isBulk = kind === "request";
    const lines = ALWAYS.has(kind) ? unfiltered : logger;
    lines[levelOf(observation)](fieldsOf(observation), messageOf(observation));
  };
  sink.onDropped?.((count) => observe({ kind: "log-lines-dropped", count }));
  return observe;
}
