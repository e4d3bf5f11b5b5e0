/** The log: observations as pino lines on stderr, JSON for machines, plain text on a terminal. */

import { type Logger, pino } from "pino";
import { type Observation, type Observe, rowOf } from "../events.ts";

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
    const { kind, ...fields } = observation;
    if (omitted.has(kind)) return;
    isBulk = kind === "request";
    const { level, levelIf, text, line, isAlwaysLogged } = rowOf(observation);
    const lines = isAlwaysLogged ? unfiltered : logger;
    lines[levelIf?.(observation) ?? level](
      { event: kind, ...(line?.(observation) ?? fields) },
      typeof text === "string" ? text : text(observation),
    );
  };
  sink.onDropped?.((count) => observe({ kind: "log-lines-dropped", count }));
  return observe;
}
