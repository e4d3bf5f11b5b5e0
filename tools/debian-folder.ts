/** Folders with a plain Debian and Node, like Node's image, made from the files of this machine's packages. */

import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Shell, tools, and the libraries that Node is linked with. */
const PACKAGES = [
  ...["base-files", "bash", "coreutils", "dash", "debianutils", "diffutils", "findutils", "grep", "gzip"],
  ...["hostname", "libc-bin", "libc6", "libgcc-s1", "libstdc++6", "sed", "tar", "util-linux"],
];

/** Variables that name this machine's trusted certificates. */
export const TRUST = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];
const NETWORK = [
  "/etc/resolv.conf",
  "/etc/hosts",
  "/etc/nsswitch.conf",
  "/etc/ssl/certs/ca-certificates.crt",
];

/** The packages and all their dependencies. */
function withDependencies(names: readonly string[]): string[] {
  const format = ["-W", "-f", `\${Package}\t\${Pre-Depends}, \${Depends}\n`];
  const rows = execFileSync("dpkg-query", format, { encoding: "utf8", maxBuffer: 1 << 26 }).split("\n");
  const dependencies = new Map(rows.map((row) => row.split("\t", 2) as [string, string]));
  const found = new Set<string>();
  const add = (name: string): void => {
    const needs = dependencies.get(name);
    if (needs === undefined || found.has(name)) return;
    found.add(name);
    for (const need of needs.split(/[,|]/)) add(need.trim().split(/[\s:(]/, 1)[0]!);
  };
  for (const name of names) add(name);
  return [...found];
}

function copy(from: string, root: string, to = from): void {
  mkdirSync(dirname(join(root, to)), { recursive: true });
  cpSync(realpathSync(from), join(root, to), { recursive: true, dereference: false });
}

/** Makes the folder. @param node path of the Node to copy */
export function makeDebianFolder(root: string, node: string): void {
  for (const name of ["bin", "sbin", "lib", "lib64"]) {
    mkdirSync(join(root, "usr", name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  const packages = withDependencies(PACKAGES);
  const files = execFileSync("dpkg-query", ["-L", ...packages], { encoding: "utf8", maxBuffer: 1 << 26 })
    .split("\n")
    .filter((path) => path.startsWith("/") && !/^\/usr\/share\/(doc|man|locale|info)\//.test(path))
    .filter((path) => existsSync(path) && !lstatSync(path).isDirectory());
  const list = [...new Set(files)].map((path) => path.slice(1)).join("\n");
  const packed = spawnSync("tar", ["-C", "/", "-c", "-T", "-"], { input: list, maxBuffer: 1 << 30 });
  if (packed.status !== 0) throw new Error(String(packed.stderr));
  execFileSync("tar", ["-C", root, "-x"], { input: packed.stdout });
  if (!existsSync(join(root, "bin/sh"))) symlinkSync("dash", join(root, "bin/sh"));
  for (const folder of ["proc", "dev", "tmp", "root", "srv", "opt"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  chmodSync(join(root, "tmp"), 0o1777);
  // At least these devices exist, even if nothing may be mounted.
  spawnSync("mknod", ["-m", "666", join(root, "dev/null"), "c", "1", "3"]);
  spawnSync("mknod", ["-m", "666", join(root, "dev/urandom"), "c", "1", "9"]);
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n");
  for (const path of [...NETWORK, ...TRUST.flatMap((name) => process.env[name] ?? [])]) {
    if (existsSync(path)) copy(path, root);
  }
  copy(node, root, "/usr/local/bin/node");
  const npm = dirname(dirname(realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim())));
  copy(npm, root, "/usr/local/lib/node_modules/npm");
  for (const name of ["npm", "npx"]) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, "usr/local/bin", name));
  }
}
