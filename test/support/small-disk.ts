/** A file system that is soon full. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of so many bytes, for as long as a test runs; undefined where none may be mounted. */
export function smallDisk(test: { after(done: () => void): void }, size = "64k"): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "orrery-full-"));
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]);
  test.after(() => {
    if (status === 0) execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true });
  });
  return status === 0 ? folder : undefined;
}
