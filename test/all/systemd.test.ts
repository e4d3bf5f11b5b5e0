/** The systemd units of `deploy/`: systemd finds no fault in them and a small exposure. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { ROOT } from "../support/program.ts";

const UNIT = join(ROOT, "deploy/orrery.service");
const PUBLISH = join(ROOT, "deploy/orrery-publish@.service");

function analyze(...args: readonly string[]): string {
  const ran = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  assert.equal(ran.status, 0, ran.stdout + ran.stderr);
  return ran.stdout + ran.stderr;
}

/** Asserts that systemd finds no fault in a unit, with the command of this checkout in it. */
function assertClean(t: TestContext, from: string, name: string, run: string): void {
  const unit = join(temporaryFolder(t), name);
  const command = join(ROOT, "bin/orrery.mjs");
  // Verification includes the existence of the command.
  const text = readFileSync(from, "utf8").replace("/usr/local/bin/orrery ", `${command} `);
  assert.ok(text.includes(`ExecStart=${command} ${run}`));
  writeFileSync(unit, text);
  assert.equal(analyze("verify", "--man=no", unit), "");
}

function assertClosed(unit: string): void {
  const report = analyze("security", "--offline=true", "--no-pager", "--threshold=20", unit);
  const exposure = Number(/Overall exposure level for orrery\S*\.service: ([\d.]+)/.exec(report)?.[1]);
  assert.ok(exposure > 0 && exposure <= 2, report);
}

describe("the systemd unit", { skip: need("systemd-analyze") }, () => {
  it("is clean to systemd-analyze verify", (t) => assertClean(t, UNIT, "orrery.service", "serve"));

  it("lets copies of a snapshot by URL and counts be written where the settings say, and nothing else", () => {
    const text = readFileSync(UNIT, "utf8");
    const settingOf = (key: string): string | undefined => new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1];
    assert.equal(settingOf("Environment=ORRERY_CACHE"), `/var/cache/${settingOf("CacheDirectory")}`);
    assert.equal(settingOf("Environment=ORRERY_STATE"), `/var/lib/${settingOf("StateDirectory")}/counts`);
    assert.deepEqual([settingOf("ProtectSystem"), settingOf("ReadWritePaths")], ["strict", undefined]);
    // A flag would override the variables of orrery.env.
    assert.equal(settingOf("ExecStart"), "/usr/local/bin/orrery serve");
  });

  it("is exposed at most 2.0 to systemd-analyze security", () => assertClosed(UNIT));
});

describe("the systemd unit for what brings data", { skip: need("systemd-analyze") }, () => {
  for (const command of ["export", "mirror"]) {
    it(`is clean to systemd-analyze verify: ${command}`, (t) =>
      assertClean(t, PUBLISH, `orrery-publish@${command}.service`, "%i --out /var/lib/orrery/snapshot"));
  }

  it("publishes to where the server reads, in whose group it is", () => {
    const [publish, serve] = [PUBLISH, UNIT].map((unit) => readFileSync(unit, "utf8")) as [string, string];
    const out = /^ExecStart=.* --out (\S+)/m.exec(publish)![1]!;
    assert.ok(serve.includes(`\nEnvironment=ORRERY_SNAPSHOT=${out}\n`));
    for (const line of ["Group=orrery", "ProtectSystem=strict"])
      for (const text of [publish, serve]) assert.ok(text.includes(`\n${line}\n`));
    assert.match(publish, /^StateDirectory=orrery$/m);
    assert.match(publish, /^UMask=0027$/m);
  });

  it("is exposed at most 2.0 to systemd-analyze security", () => assertClosed(PUBLISH));
});
