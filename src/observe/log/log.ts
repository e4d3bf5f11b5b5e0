/** The log: one line per observation, JSON for machines, plain text on a terminal. */

import { escaped } from "../../util/escaped.ts";
import { type Observation, type Observe, rowOf, type Tables } from "../events.ts";
import { withPriority } from "./journal.ts";

/** A value for a terminal. */
function plain(value: unknown): string {
  return escaped(typeof value === "object" ? JSON.stringify(value) : String(value));
}

function prettyLine(entry: Readonly<Record<string, unknown>>): string {
  const { time, level, msg, event, problems, ...rest } = entry;
  const fields = Object.entries(rest)
    .map(([name, value]) => `${name}=${plain(value)}`)
    .join(" ");
  const below = Array.isArray(problems) ? problems.map((problem) => `  ${plain(problem)}\n`) : [];
  return `${time} ${String(level).toUpperCase().padEnd(5)} ${plain(msg)} ${fields}\n${below.join("")}`;
}

let timeMs = 0;
let timeText = "";

/** The time of a line, formatted once per millisecond. @param now milliseconds since the epoch */
export function timeOf(now: number): string {
  if (now !== timeMs) {
    timeMs = now;
    timeText = new Date(now).toISOString();
  }
  return timeText;
}

export interface LogSink {
  /** Whether people read the lines. */
  readonly isPretty?: boolean;
  /** Whether the journal of systemd takes the lines, so that each begins with its priority. */
  readonly isJournal?: boolean;
  /** @param isBulk one of very many lines, which may be dropped before others */
  write(text: string, isBulk?: boolean): unknown;
  /** @param listener called after each gap in the log */
  onDropped?(listener: (lines: number) => void): void;
  /** Observes dropped lines and failed writes at once. */
  watch?(observe: Observe): void;
}

const LEVELS = ["debug", "info", "warn", "error", "silent"];

/** Creates the log's listener. @param level of the least severe lines, or "silent" @param omitted events that are not logged */
export function createLog(
  events: Tables["events"],
  level: string,
  sink: LogSink,
  omitted: ReadonlySet<Observation["kind"]> = new Set(),
): Observe {
  const least = LEVELS.indexOf(level);
  const { pid } = process;
  const observe: Observe = (observation) => {
    const { kind, ...fields } = observation;
    const { level: usual, levelIf, text, line, isAlwaysLogged } = rowOf(events, observation);
    const severity = levelIf?.(observation) ?? usual;
    if (omitted.has(kind) || !(isAlwaysLogged || LEVELS.indexOf(severity) >= least)) return;
    const entry = {
      level: severity,
      time: timeOf(Date.now()),
      pid,
      event: kind,
      ...(line?.(observation) ?? fields),
      msg: typeof text === "string" ? text : text(observation),
    };
    const lines = sink.isPretty ? prettyLine(entry) : `${escaped(JSON.stringify(entry))}\n`;
    sink.write(sink.isJournal ? withPriority(severity, lines) : lines, kind === "request");
  };
  // The log has one line per gap, which stands in its place.
  sink.onDropped?.((count) => observe({ kind: "log-lines-dropped", count }));
  sink.watch?.((one) => one.kind !== "log-lines-dropped" && observe(one));
  return observe;
}
