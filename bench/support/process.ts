/** What Linux says of another process. */

import { readFileSync, writeFileSync } from "node:fs";

/** Linux counts the CPU time of a process in these, in milliseconds. */
const TICK_MS = 10;

/** CPU time of all threads of a process so far, in milliseconds. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Bytes of a process in memory, now or at most so far. */
export function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): number {
  const line = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line![1]) * 1024;
}

/** Makes `VmHWM` of a process begin anew, where the system allows it; else it stays the highest so far. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // The peak of the whole life is told.
  }
}
