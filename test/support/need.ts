/** Programs that a test needs. */

import { spawnSync } from "node:child_process";

/**
 * The reason why a test does not run here, for its `skip`.
 *
 * @throws with ORRERY_TEST_NO_SKIP=1, as in CI, where everything is installed
 */
export function unavailable(reason: string): string {
  if (process.env.ORRERY_TEST_NO_SKIP === "1") throw new Error(`nothing may be skipped here, but ${reason}`);
  return reason;
}

function isInstalled(program: string): boolean {
  return spawnSync("sh", ["-c", 'command -v "$0"', program]).status === 0;
}

/** For the `skip` of a test that runs programs: false if all are installed; see {@link unavailable}. */
export function need(...programs: readonly string[]): string | false {
  const absent = programs.filter((program) => !isInstalled(program));
  return absent.length > 0 && unavailable(`not installed: ${absent.join(", ")}`);
}

/** Why strace cannot make system calls fail here, or false. */
export function needStrace(): string | false {
  const isRefused = (): boolean => spawnSync("strace", ["-f", "-o", "/dev/null", "true"]).status !== 0;
  return need("strace") || (isRefused() && "strace may not trace");
}
