/** Metrics of the process and Node, as far as the runtime provides them, named as in Prometheus client libraries. */

import { readdirSync, readFileSync } from "node:fs";
import { getHeapSpaceStatistics } from "node:v8";
import { by, type Family, labelsOf, one, type Sample } from "./samples.ts";

function ifThere<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function numberIn(file: "status" | "limits", before: string): number | undefined {
  const text = ifThere(() => readFileSync(`/proc/self/${file}`, "latin1")) ?? "";
  const found = new RegExp(`^${before}\\s+(\\d+)`, "m").exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

function bytesIn(field: string): number | undefined {
  const kilobytes = numberIn("status", `${field}:`);
  return kilobytes && kilobytes * 1024;
}

const STARTED = Math.round(Date.now() / 1000 - process.uptime());

function singles(): (readonly [name: string, help: string, value: number | undefined])[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const openFiles = ifThere(() => readdirSync("/proc/self/fd").length - 1);
  return [
    ["process_cpu_user_seconds_total", "Total user CPU time spent in seconds.", user / 1e6],
    ["process_cpu_system_seconds_total", "Total system CPU time spent in seconds.", system / 1e6],
    ["process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", (user + system) / 1e6],
    ["process_start_time_seconds", "Start time of the process since unix epoch in seconds.", STARTED],
    ["process_resident_memory_bytes", "Resident memory size in bytes.", rss],
    ["process_virtual_memory_bytes", "Virtual memory size in bytes.", bytesIn("VmSize")],
    ["process_heap_bytes", "Process heap size in bytes.", bytesIn("VmData")],
    ["process_open_fds", "Number of open file descriptors.", openFiles],
    ["process_max_fds", "Maximum number of open file descriptors.", numberIn("limits", "Max open files")],
    ["nodejs_heap_size_total_bytes", "Process heap size from Node.js in bytes.", heapTotal],
    ["nodejs_heap_size_used_bytes", "Process heap size used from Node.js in bytes.", heapUsed],
    ["nodejs_external_memory_bytes", "Node.js external memory size in bytes.", external],
  ];
}

function family(name: string, help: string, values: readonly Sample[]): Family {
  return { name, help, type: name.endsWith("_total") ? "counter" : "gauge", values };
}

export function processFamilies(): readonly Family[] {
  const spaces = ifThere(getHeapSpaceStatistics) ?? [];
  const ofSpaces = (word: string, size: (space: (typeof spaces)[number]) => number): Family => {
    const sizes = spaces.map((space) => [space.space_name.replace("_space", ""), size(space)]);
    const help = `Process heap space size ${word} from Node.js in bytes.`;
    return family(`nodejs_heap_space_size_${word}_bytes`, help, by("space", Object.fromEntries(sizes)));
  };
  const { version } = process;
  const [major = "", minor = "", patch = ""] = version.slice(1).split(".");
  return [
    ...singles().flatMap(([name, help, value]) =>
      value === undefined ? [] : family(name, help, one(value)),
    ),
    ofSpaces("total", (space) => space.space_size),
    ofSpaces("used", (space) => space.space_used_size),
    ofSpaces("available", (space) => space.space_available_size),
    family("nodejs_version_info", "Node.js version info.", [
      [`{${labelsOf({ version, major, minor, patch })}}`, 1],
    ]),
  ];
}
