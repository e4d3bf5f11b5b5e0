/** Crowds of `crowd.mjs` around a server. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { within } from "./patience.ts";

const PROGRAM = fileURLToPath(new URL("crowd.mjs", import.meta.url));

/** Starts a crowd and waits until it is connected; it ends with the test. */
export async function startCrowd(
  test: { after(done: () => unknown): void },
  port: number,
  count: number,
  conduct: "silent" | "endless" | "patient",
  request: string,
): Promise<{ readonly pid: number; readonly end: () => Promise<unknown> }> {
  const args = [PROGRAM, String(port), String(count), conduct, request];
  const crowd = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(crowd, "exit");
  const end = (): Promise<unknown> => {
    crowd.kill("SIGKILL");
    return ended;
  };
  test.after(end);
  await within(once(crowd.stdout, "data"), "the crowd");
  return { pid: crowd.pid!, end };
}
