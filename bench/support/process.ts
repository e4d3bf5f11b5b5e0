/** Linux's figures of another process. */

import { readFileSync, writeFileSync } from "node:fs";

/** Unit of a process's CPU time on Linux, in milliseconds. */
const TICK_MS = 10;

/** CPU time of all threads of a process so far, in milliseconds. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident bytes of a process: current, or the peak so far. */
export function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): number {
  const line = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line![1]) * 1024;
}

/** Resets `VmHWM` of a process, if the system allows it; else it stays the peak so far. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // `VmHWM` stays the peak of the whole life.
  }
}
