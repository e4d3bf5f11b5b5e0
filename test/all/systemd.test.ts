/** The systemd unit of `deploy/`: systemd finds no fault in it and little that it leaves open. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const UNIT = join(ROOT, "deploy/orrery.service");

function analyze(...args: readonly string[]): string {
  const ran = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  assert.equal(ran.status, 0, ran.stdout + ran.stderr);
  return ran.stdout + ran.stderr;
}

describe("the systemd unit", { skip: need("systemd-analyze") }, () => {
  it("is clean to systemd-analyze verify", (t) => {
    const unit = join(temporaryFolder(t), "orrery.service");
    const command = join(ROOT, "bin/orrery.mjs");
    // Verified is also that the command is there.
    const text = readFileSync(UNIT, "utf8").replace("/usr/local/bin/orrery ", `${command} `);
    assert.ok(text.includes(`ExecStart=${command} serve`));
    writeFileSync(unit, text);
    assert.equal(analyze("verify", "--man=no", unit), "");
  });

  it("lets copies of a snapshot by URL and counts be written where the settings say, and nothing else", () => {
    const text = readFileSync(UNIT, "utf8");
    const settingOf = (key: string): string | undefined => new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1];
    assert.equal(settingOf("Environment=ORRERY_CACHE"), `/var/cache/${settingOf("CacheDirectory")}`);
    assert.equal(settingOf("Environment=ORRERY_STATE"), `/var/lib/${settingOf("StateDirectory")}/counts`);
    assert.equal(settingOf("ProtectSystem"), "strict");
    assert.equal(settingOf("ReadWritePaths"), undefined);
    // A flag would win over the variables of orrery.env.
    assert.equal(settingOf("ExecStart"), "/usr/local/bin/orrery serve");
  });

  it("is exposed at most 2.0 to systemd-analyze security", () => {
    const report = analyze("security", "--offline=true", "--no-pager", "--threshold=20", UNIT);
    const exposure = Number(/Overall exposure level for orrery\.service: ([\d.]+)/.exec(report)?.[1]);
    assert.ok(exposure > 0 && exposure <= 2, report);
  });
});
