/** The log: observations as pino lines on stderr, JSON for machines, plain text on a terminal. */

import { type Logger, pino } from "pino";
import type { Observation, Observe } from "../observe.ts";

const LEVELS: Readonly<Record<Observation["kind"], "info" | "warn" | "error">> = {
  listening: "info",
  stopping: "info",
  stopped: "info",
  "snapshot-loaded": "info",
  "snapshot-unchanged": "info",
  "snapshot-shrunk": "warn",
  "snapshot-refused": "error",
  "search-cache": "info",
  "thread-died": "error",
  "thread-replaced": "info",
  "keys-loaded": "info",
  "keys-refused": "error",
  request: "info",
  defect: "error",
};

function messageOf(observation: Observation): string {
  switch (observation.kind) {
    case "listening":
      return "listening";
    case "stopping":
      return `stopping on ${observation.signal}`;
    case "stopped":
      return "stopped";
    case "snapshot-loaded":
      return "snapshot loaded";
    case "snapshot-unchanged":
      return "snapshot unchanged";
    case "snapshot-shrunk":
      return `snapshot has less than half of the ${observation.table} that were served`;
    case "snapshot-refused":
      return "snapshot refused, the old generation serves on";
    case "search-cache":
      return "search cache dropped with its generation";
    case "thread-died":
      return `${observation.role} thread died, it will be replaced`;
    case "thread-replaced":
      return `${observation.role} thread replaced`;
    case "keys-loaded":
      return "keys loaded";
    case "keys-refused":
      return "keys file refused, the old keys stay";
    case "request":
      return "request";
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

/** One line of text for people. */
function prettyLine(line: string): string {
  const { time, level, msg, event, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest)
    .map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .join(" ");
  return `${String(time)} ${String(level).toUpperCase().padEnd(5)} ${String(msg)} ${fields}\n`;
}

/** Where log lines go; standard error outside tests. */
export interface LogSink {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Makes the log's listener.
 *
 * @param level least severe lines to write, or "silent"
 */
export function createLog(level: string, sink: LogSink = process.stderr): Observe {
  const write = (line: string): void => {
    sink.write(sink.isTTY ? prettyLine(line) : line);
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
  return (observation) => {
    logger[LEVELS[observation.kind]](fieldsOf(observation), messageOf(observation));
  };
}
