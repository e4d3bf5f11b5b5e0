/** A file system that fills up soon. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of this size, for the time of a test; undefined if mounting is not allowed. */
export function smallDisk(test: { after(done: () => void): void }, size = "64k"): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "orrery-full-"));
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]);
  test.after(() => {
    if (status === 0) execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true });
  });
  return status === 0 ? folder : undefined;
}

/** Fills a file system except for some bytes with its file `ballast`. */
export function fill(disk: string, spare: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, "ballast"), Buffer.alloc(bavail * bsize - spare));
}
