/**
 * The files of `deploy/`: the manifests for Kubernetes against its own schemas and the program; the systemd units, in which
 * systemd finds no fault and a small exposure; and the Containerfile, its steps and their result run in plain folders of Debian.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import { Deployment } from "kubernetes-models/apps/v1";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { ConfigMap, Secret, Service } from "kubernetes-models/v1";
import { parseAllDocuments } from "yaml";
import { PROGRAM } from "../../src/features.ts";
import { problemWith, settingsOf, variableOf } from "../../src/settings/settings.ts";
import { commandIn, environmentOf, type Image, runContainerfile } from "../../tools/containerfile.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need, unavailable } from "../support/need.ts";
import { assertInTime } from "../support/patience.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { get, runWell, served, start, until, untilReply } from "../support/process.ts";
import { ROOT, runTsc } from "../support/program.ts";

const FOLDER = join(ROOT, "deploy/kubernetes");

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> };
}

function parse(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as Manifest;
  });
}

/** The manifests that an apply of a folder takes, without its subfolders. */
function manifestsIn(folder: string): Manifest[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  return files.flatMap((name) => parse(readFileSync(join(folder, name), "utf8")));
}

const manifests = manifestsIn(FOLDER);
const secrets = manifestsIn(join(FOLDER, "secret"));

const CLASSES = { ConfigMap, Secret, Service, Deployment, HorizontalPodAutoscaler, PodDisruptionBudget };
type Kind = keyof typeof CLASSES;
const IMPORTS = `
  import type { IConfigMap, ISecret, IService } from "kubernetes-models/v1";
  import type { IDeployment } from "kubernetes-models/apps/v1";
  import type { IHorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
  import type { IPodDisruptionBudget } from "kubernetes-models/policy/v1";
`;

/** The manifest of a kind with a name. */
function manifest<Name extends Kind>(kind: Name, name = "orrery"): InstanceType<(typeof CLASSES)[Name]> {
  const found = [...manifests, ...secrets].filter(
    (entry) => entry.kind === kind && entry.metadata.name === name,
  );
  assert.equal(found.length, 1, `${kind} ${name}`);
  return found[0] as unknown as InstanceType<(typeof CLASSES)[Name]>;
}

/** The compiler's errors for the manifests as values of the schemas' types, which do not allow unknown fields. */
function complaints(values: readonly Manifest[]): string {
  mkdirSync(join(ROOT, ".tests"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".tests", "kubernetes-"));
  try {
    const lines = values.map((value, n) => `export const m${n}: I${value.kind} = ${JSON.stringify(value)};`);
    const file = join(folder, "manifests.ts");
    writeFileSync(file, [IMPORTS, ...lines].join("\n"));
    const options = "--ignoreConfig --noEmit --skipLibCheck --module nodenext --types".split(" ");
    return runTsc([...options, "", file]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Asserts that each variable belongs to a setting of `serve`, and that its value is valid. */
function assertSettings(data: Readonly<Record<string, string>>): void {
  const settings = settingsOf(PROGRAM.settings, "serve");
  for (const [variable, value] of Object.entries(data)) {
    const setting = settings.find(({ flag }) => variableOf(flag) === variable);
    assert.ok(setting, variable);
    assert.equal(problemWith(setting, value), undefined, variable);
  }
}

/** Puts files into a folder as a node's agent does with a secret: one rename of a link replaces all of them. */
function mount(folder: string, files: Readonly<Record<string, string>>, version: string): void {
  mkdirSync(join(folder, version), { recursive: true });
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, version, name), text, { mode: 0o440 });
  const isNew = !readdirSync(folder).includes("..data");
  symlinkSync(version, join(folder, "..data_tmp"));
  renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
  if (isNew) for (const name of Object.keys(files)) symlinkSync(join("..data", name), join(folder, name));
}

const podOf = () => manifest("Deployment").spec!.template.spec!;

describe("the manifests for Kubernetes", () => {
  it("are valid", () => {
    for (const entry of [...manifests, ...secrets]) {
      assert.ok(entry.kind in CLASSES, entry.kind);
      new CLASSES[entry.kind as Kind](entry as never).validate();
    }
    const wrong = structuredClone(manifest("Deployment"));
    Object.assign(wrong.spec!, { minReadySeconds: "5" });
    assert.throws(() => new Deployment(wrong as never).validate(), /minReadySeconds must be integer/);
  });

  it("have no field that Kubernetes does not know", () => {
    assert.equal(complaints([...manifests, ...secrets]), "");
    const wrong = structuredClone(manifest("Deployment"));
    Object.assign(wrong.spec!.template.spec!.containers[0]!, { livenesProbe: {} });
    assert.match(complaints([wrong as unknown as Manifest]), /livenesProbe/);
  });

  it("select the pods that there are", () => {
    const { spec } = manifest("Deployment");
    const { labels } = spec!.template.metadata!;
    assert.deepEqual(spec!.selector.matchLabels, labels);
    assert.deepEqual(spec!.template.spec!.topologySpreadConstraints![0]!.labelSelector!.matchLabels, labels);
    assert.deepEqual(manifest("Service").spec!.selector, labels);
    assert.deepEqual(manifest("PodDisruptionBudget").spec!.selector!.matchLabels, labels);
    const { scaleTargetRef } = manifest("HorizontalPodAutoscaler").spec!;
    assert.deepEqual(scaleTargetRef, { apiVersion: "apps/v1", kind: "Deployment", name: "orrery" });
  });

  it("give settings that there are, and the ports and files of which they speak", () => {
    const { data } = manifest("ConfigMap");
    assertSettings(data!);
    const pod = podOf();
    const [container] = pod.containers;
    const ports = new Map(container!.ports!.map(({ name, containerPort }) => [name, containerPort]));
    assert.equal(data!.ORRERY_ADMIN, `0.0.0.0:${ports.get("admin")}`);
    for (const probe of [container!.readinessProbe!, container!.livenessProbe!])
      assert.equal(probe.httpGet!.port, "admin");
    // As in the image.
    const image = readFileSync(join(ROOT, "deploy/Containerfile"), "utf8");
    assert.match(image, new RegExp(`ORRERY_PORT=${ports.get("http")} `));
    const { runAsUser, fsGroup } = pod.securityContext!;
    assert.match(image, new RegExp(`^USER ${runAsUser}:${fsGroup}$`, "m"));
    const mounts = container!.volumeMounts!.map(({ mountPath }) => `${mountPath}/`);
    const paths = Array.from(image.matchAll(/ORRERY_(?:KEYS|CACHE)=(\S+)/g), ([, path]) => `${path}/`);
    for (const path of [data!.ORRERY_ADMIN_TOKEN_FILE!, ...paths])
      assert.ok(
        mounts.some((mount) => path.startsWith(mount)),
        path,
      );
  });

  it("have no secrets, which an apply of the folder would put in place of the real ones; the documents make each", () => {
    const words = readFileSync(join(ROOT, "deploy/README.md"), "utf8");
    const names = podOf().volumes!.flatMap(({ secret }) => secret?.secretName ?? []);
    assert.deepEqual(names, ["orrery-keys", "orrery-admin", "orrery-limits"]);
    for (const name of names) assert.ok(words.includes(`kubectl create secret generic ${name} `), name);
    assert.ok(manifests.every(({ kind }) => kind !== "Secret"));
    for (const { metadata } of secrets) assert.ok(names.includes(metadata.name), metadata.name);
  });

  it("run the program: with these settings it takes up its keys, its probes are answered, and it stops in time", async (t) => {
    const folder = temporaryFolder(t);
    const [keys, admin, cache] = [join(folder, "keys"), join(folder, "admin"), join(folder, "cache")];
    for (const made of [keys, admin, cache]) mkdirSync(made);
    const { stringData } = manifest("Secret", "orrery-keys");
    assert.deepEqual(Object.keys(stringData!), ["keys.json"]);
    mount(keys, stringData!, "..1");
    mount(admin, { token: "an-admin-token\n" }, "..1");
    const adminPort = await freePort();
    const { data } = manifest("ConfigMap");
    const variables = {
      ...data,
      // As in the image.
      ORRERY_KEYS: join(keys, "keys.json"),
      ORRERY_CACHE: cache,
      ORRERY_PORT: "0",
      // Values for this machine.
      ORRERY_SNAPSHOT: "data/sample",
      ORRERY_ADMIN: data!.ORRERY_ADMIN!.replace(/\d+$/, String(adminPort)),
      ORRERY_ADMIN_TOKEN_FILE: data!.ORRERY_ADMIN_TOKEN_FILE!.replace("/srv/admin", admin),
    };
    const server = await served(start(["serve"], variables));
    const pod = podOf();
    const { readinessProbe, livenessProbe, lifecycle } = pod.containers[0]!;
    // Probes have no token and call the pod by its address.
    const paths = [readinessProbe!.httpGet!.path, livenessProbe!.httpGet!.path, "/metrics"];
    const replies = await Promise.all(paths.map((path) => get(`http://127.0.0.1:${adminPort}${path}`)));
    assert.equal(replies.map(({ status }) => status).join(), "200,200,401");
    // The manifest as delivered contains no key.
    assert.equal((await server.logged("keys-loaded")).level, "warn");
    const made = join(folder, "made.json");
    const token = (await runWell(["keys", "create", "--keys", made, "--name", "first client"])).stdout.trim();
    assert.equal((await get(`${server.url}/stats`, { token })).status, 401);
    // Filled in by hand, as the manifest says: indented by four.
    const text = readFileSync(join(FOLDER, "secret/keys.yaml"), "utf8");
    const indented = readFileSync(made, "utf8").trimEnd().replaceAll(/^/gm, "    ");
    const [filled] = parse(text.replace(/^ {4}\{"keys":\[\]\}$/m, indented)) as unknown as Secret[];
    mount(keys, filled!.stringData!, "..2");
    await untilReply(server, token, ({ status }) => status === 200, "the new keys to apply");

    // The process ends before SIGKILL. (Tests of the admin listener check that /readyz answers 503 meanwhile.)
    const began = performance.now();
    await server.stop();
    const { seconds } = lifecycle!.preStop!.sleep!;
    assert.ok(pod.terminationGracePeriodSeconds! > seconds + 10, "a server spends 10 s on requests at most");
    assertInTime(began, (pod.terminationGracePeriodSeconds! - seconds) * 1000, "the stop");
  });
});

const UNIT = join(ROOT, "deploy/orrery.service");
const PUBLISH = join(ROOT, "deploy/orrery-export.service");

function analyze(...args: readonly string[]): string {
  const ran = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  assert.equal(ran.status, 0, ran.stdout + ran.stderr);
  return ran.stdout + ran.stderr;
}

/** Asserts that systemd finds no fault in a unit, with the command of this checkout in it. @returns the unit's folder */
function assertClean(t: TestContext, from: string, run: string): string {
  const folder = temporaryFolder(t);
  const unit = join(folder, basename(from));
  const command = join(ROOT, "bin/orrery.mjs");
  // Verification includes the existence of the command.
  const text = readFileSync(from, "utf8").replace("/usr/local/bin/orrery ", `${command} `);
  assert.ok(text.includes(`ExecStart=${command} ${run}`));
  writeFileSync(unit, text);
  assert.equal(analyze("verify", "--man=no", unit), "");
  return folder;
}

function assertClosed(unit: string): void {
  const report = analyze("security", "--offline=true", "--no-pager", "--threshold=20", unit);
  const exposure = Number(/Overall exposure level for orrery\S*\.service: ([\d.]+)/.exec(report)?.[1]);
  assert.ok(exposure > 0 && exposure <= 2, report);
}

describe("the systemd unit", { skip: need("systemd-analyze") }, () => {
  it("is clean to systemd-analyze verify", (t) => void assertClean(t, UNIT, "serve"));

  it("lets copies of a snapshot by URL be written where the setting says, and nothing else", () => {
    const text = readFileSync(UNIT, "utf8");
    const settingOf = (key: string): string | undefined => new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1];
    assert.equal(settingOf("Environment=ORRERY_CACHE"), `/var/cache/${settingOf("CacheDirectory")}`);
    assert.equal(settingOf("StateDirectory"), undefined);
    assert.deepEqual([settingOf("ProtectSystem"), settingOf("ReadWritePaths")], ["strict", undefined]);
    // A flag would override the variables of orrery.env.
    assert.equal(settingOf("ExecStart"), "/usr/local/bin/orrery serve");
  });

  it("is exposed at most 2.0 to systemd-analyze security", () => assertClosed(UNIT));
});

describe("the systemd unit for what brings data", { skip: need("systemd-analyze") }, () => {
  it("is clean to systemd-analyze verify, and so is the timer that starts it", (t) => {
    const folder = assertClean(t, PUBLISH, "export --out /var/lib/orrery/snapshot");
    const timer = join(folder, "orrery-export.timer");
    cpSync(join(ROOT, "deploy/orrery-export.timer"), timer);
    assert.equal(analyze("verify", "--man=no", timer), "");
  });

  it("is exposed at most 2.0 to systemd-analyze security", () => assertClosed(PUBLISH));
});

const isRoot = process.getuid?.() === 0;
const skip = isRoot ? need("chroot", "dpkg-query", "tar", "npm") : unavailable("chroot is for root alone");

const folder = temporaryFolder();

describe("the container", { skip }, () => {
  let image: Image;
  let port = 0;

  before(async () => {
    image = runContainerfile(folder, join(ROOT, "deploy/Containerfile"));
    port = await freePort();
  });

  const environment = (): Record<string, string> => ({
    ...environmentOf(image),
    ORRERY_HOST: "127.0.0.1",
    ORRERY_PORT: String(port),
  });

  function run(...command: readonly string[]) {
    const [program, ...args] = commandIn(image, command);
    return spawnSync(program!, args, { encoding: "utf8", env: environment() });
  }

  function startIn(t: TestContext, ...command: readonly string[]): ChildProcess {
    const [program, ...args] = commandIn(image, [...image.entrypoint, ...command]);
    const child = spawn(program!, args, { env: environment(), stdio: "ignore" });
    t.after(() => child.kill("SIGKILL"));
    return child;
  }

  /** Asserts that it stops on SIGTERM, with status 0. */
  async function assertStops(child: ChildProcess): Promise<void> {
    child.kill("SIGTERM");
    assert.deepEqual(await once(child, "exit"), [0, null]);
  }

  const isHealthy = (): boolean => run(...image.health).status === 0;

  it("has what runs and nothing that builds, and no user of it can change that", () => {
    assert.match(image.user, /^[1-9]\d*:[1-9]\d*$/);
    const packages = ["typescript", "tsx", "esbuild"].map((name) => `node_modules/${name}`);
    for (const name of ["src", "tools", ...packages])
      assert.equal(existsSync(join(image.root, "opt/orrery", name)), false, name);
    const version = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version as string;
    assert.equal(run("orrery", "--version").stdout, `${version}\n`);
    assert.notEqual(run("sh", "-c", "echo > /opt/orrery/package.json").status, 0);
    assert.notEqual(run("sh", "-c", "command -v curl wget").status, 0, "health needs no client");
  });

  it("serves as its user, is healthy while it does, and stops on SIGTERM", async (t) => {
    cpSync(join(ROOT, "data/sample"), join(image.root, "srv/snapshot"), { recursive: true });
    const keys = writeKeys(join(image.root, "srv/keys/keys.json"), keyRecord(TOKEN));
    chmodSync(keys, 0o600);
    const [uid, gid] = image.user.split(":").map(Number);
    chownSync(keys, uid!, gid!);
    assert.equal(isHealthy(), false, "nobody serves yet");
    // A missing counter server is no reason to refuse to start; a missing client of it would be.
    const child = startIn(t, ...image.command, "--shared-limits", "redis://127.0.0.1:1");
    const url = `http://127.0.0.1:${port}/api/public/v1`;
    await until(async () => {
      assert.equal(child.exitCode, null);
      return (await get(`${url}/stats`, { token: TOKEN }).catch(() => undefined))?.status === 200;
    }, "the answer");
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    assert.match(status, new RegExp(`^Uid:(\\s+${uid}){4}$`, "m"));
    assert.match(status, new RegExp(`^Groups:\\s+${gid}\\s*$`, "m"));
    assert.equal(isHealthy(), true);
    await assertStops(child);
    assert.equal(isHealthy(), false);
  });

  it("shows the sample", async (t) => {
    const child = startIn(t, "demo");
    await until(isHealthy, "the demo");
    await assertStops(child);
  });
});
