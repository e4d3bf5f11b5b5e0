/** The manifests of `deploy/kubernetes`: as Kubernetes' own schemas have it, and as the program has it. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Deployment } from "kubernetes-models/apps/v1";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { ConfigMap, Service } from "kubernetes-models/v1";
import { parseAllDocuments } from "yaml";
import { SETTINGS, type Setting, variableOf } from "../../src/settings.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(ROOT, "deploy/kubernetes");

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> };
}

const manifests = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".yaml"))
  .flatMap((name) => parseAllDocuments(readFileSync(join(FOLDER, name), "utf8")))
  .map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as Manifest;
  });

const CLASSES = { ConfigMap, Service, Deployment, HorizontalPodAutoscaler, PodDisruptionBudget };
type Kind = keyof typeof CLASSES;
const MODULES: Readonly<Record<Kind, string>> = {
  ConfigMap: "v1",
  Service: "v1",
  Deployment: "apps/v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
  PodDisruptionBudget: "policy/v1",
};

/** The manifest of a kind, and with a name. */
function manifest<Name extends Kind>(kind: Name, name = "orrery"): InstanceType<(typeof CLASSES)[Name]> {
  const found = manifests.filter((entry) => entry.kind === kind && entry.metadata.name === name);
  assert.equal(found.length, 1, `${kind} ${name}`);
  return found[0] as unknown as InstanceType<(typeof CLASSES)[Name]>;
}

/** The compiler's complaints about the manifests as values of the schemas' types, which unknown fields are not. */
function complaints(values: readonly Manifest[]): string {
  mkdirSync(join(ROOT, ".tests"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".tests", "kubernetes-"));
  try {
    const imports = Object.entries(MODULES).map(
      ([kind, module]) => `import type { I${kind} } from "kubernetes-models/${module}";`,
    );
    const lines = values.map((value, n) => `export const m${n}: I${value.kind} = ${JSON.stringify(value)};`);
    const file = join(folder, "manifests.ts");
    writeFileSync(file, [...imports, ...lines].join("\n"));
    const options = [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--module",
      "nodenext",
      "--types",
      "",
    ];
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, ...options, file], { encoding: "utf8" });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("the manifests for Kubernetes", () => {
  it("are valid", () => {
    for (const entry of manifests) {
      assert.ok(entry.kind in CLASSES, entry.kind);
      const made = new CLASSES[entry.kind as Kind](entry as never);
      made.validate();
    }
    const wrong = structuredClone(manifest("Deployment"));
    Object.assign(wrong.spec!, { minReadySeconds: "5" });
    assert.throws(() => new Deployment(wrong as never).validate(), /minReadySeconds must be integer/);
  });

  it("have no field that Kubernetes does not know", () => {
    assert.equal(complaints(manifests), "");
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
    const settings = new Map(
      SETTINGS.filter(({ commands }) => commands.includes("serve")).map((setting): [string, Setting] => [
        variableOf(setting.flag),
        setting,
      ]),
    );
    for (const [variable, value] of Object.entries(data!)) {
      const setting = settings.get(variable);
      assert.ok(setting, variable);
      const { kind, min = 0 } = setting;
      if (kind === "integer" || kind === "number") assert.ok(Number(value) >= min, `${variable}=${value}`);
    }
    const pod = manifest("Deployment").spec!.template.spec!;
    const [container] = pod.containers;
    const ports = new Map(container!.ports!.map(({ name, containerPort }) => [name, containerPort]));
    assert.equal(data!.ORRERY_ADMIN, `0.0.0.0:${ports.get("admin")}`);
    for (const probe of [container!.readinessProbe!, container!.livenessProbe!])
      assert.equal(probe.httpGet!.port, "admin");
    // As the image has them.
    const image = readFileSync(join(ROOT, "deploy/Containerfile"), "utf8");
    assert.match(image, new RegExp(`ORRERY_PORT=${ports.get("http")} `));
    assert.match(
      image,
      new RegExp(`^USER ${pod.securityContext!.runAsUser}:${pod.securityContext!.fsGroup}$`, "m"),
    );
    const mounts = container!.volumeMounts!.map(({ mountPath }) => mountPath);
    assert.ok(mounts.some((path) => data!.ORRERY_ADMIN_TOKEN_FILE!.startsWith(`${path}/`)));
    for (const [, path] of image.matchAll(/ORRERY_(?:KEYS|CACHE)=(\S+)/g))
      assert.ok(
        mounts.some((mount) => path === mount || path!.startsWith(`${mount}/`)),
        path,
      );
  });

  it("have no secrets, which an apply of the folder would put in place of the real ones; the documents make each", () => {
    const words = readFileSync(join(ROOT, "deploy/README.md"), "utf8");
    const { volumes } = manifest("Deployment").spec!.template.spec!;
    const secrets = volumes!.flatMap(({ secret }) => secret?.secretName ?? []);
    assert.ok(secrets.length > 0);
    for (const name of secrets) assert.ok(words.includes(`kubectl create secret generic ${name} `), name);
    assert.ok(manifests.every(({ kind }) => kind !== "Secret"));
  });

  it("leave time enough to stop", () => {
    const pod = manifest("Deployment").spec!.template.spec!;
    const { preStop } = pod.containers[0]!.lifecycle!;
    // A server answers what is in progress for at most 10 s.
    assert.ok(pod.terminationGracePeriodSeconds! > preStop!.sleep!.seconds + 10);
  });
});
