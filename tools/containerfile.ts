/**
 * Runs the steps of a Containerfile by chroot in plain Debian folders, for machines that reach no image registry.
 * Supports the instructions in `deploy/Containerfile` and refuses others. Needs root.
 *
 *     tsx tools/containerfile.ts FOLDER [FILE]    leaves the image in FOLDER/image and prints how to run it
 */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { findNode } from "../test/support/runtimes.ts";
import { makeDebianFolder, TRUST } from "./debian-folder.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The result of a Containerfile, and its settings to run it. */
export interface Image {
  readonly root: string;
  readonly environment: Record<string, string>;
  workdir: string;
  /** USER:GROUP, in numbers. */
  user: string;
  health: readonly string[];
  entrypoint: readonly string[];
  command: readonly string[];
}

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions of a Containerfile, without comments and with continued lines joined. */
function readInstructions(file: string): Instruction[] {
  const text = readFileSync(file, "utf8")
    .replace(/^\s*#.*\n/gm, "")
    .replace(/\\\n/g, " ");
  return text.split("\n").flatMap((line) => {
    const [, name, rest] = /^\s*([A-Z]+)\s+(.*?)\s*$/.exec(line) ?? [];
    if (name !== undefined) return [{ name, text: rest! }];
    if (line.trim() !== "") throw new Error(`not understood: ${line}`);
    return [];
  });
}

const MOUNTS = ["--mount", "sh", "-c"];
const ENTER = `
root=$1 user=$2 cache=$3; shift 3
mount --bind /proc "$root/proc"; mount --bind /dev "$root/dev"
[ -z "$cache" ] || { mkdir -p "$root/root/.npm" && mount --bind "$cache" "$root/root/.npm"; }
exec chroot --userspec="$user" --groups="\${user#*:}" "$root" "$@"`;
const canMount = spawnSync("unshare", [...MOUNTS, "mount --bind /tmp /tmp"]).status === 0;

/** A command line that runs a command in an image, as its user; mounts /proc and /dev if that is allowed. */
export function commandIn({ root, user, workdir }: Image, command: readonly string[], cache = ""): string[] {
  const inside = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', workdir, ...command];
  return canMount
    ? ["unshare", ...MOUNTS, ENTER, "sh", root, user, cache, ...inside]
    : ["chroot", `--userspec=${user}`, `--groups=${user.split(":")[1]}`, root, ...inside];
}

/** The environment of a command in an image. */
export function environmentOf({ environment }: Image): Record<string, string> {
  return { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/", ...environment };
}

/** Variables that a build gets from this machine: package sources, proxies and trusted certificates. */
function buildVariables(): Record<string, string> {
  const names = [...TRUST, "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
  const given = names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  return { ...Object.fromEntries(given), npm_config_registry: registry, HOME: "/root" };
}

function run(image: Image, text: string): void {
  const cache = join(homedir(), ".npm");
  const [program, ...args] = commandIn(image, ["/bin/sh", "-c", text], existsSync(cache) ? cache : "");
  const env = { ...environmentOf(image), ...buildVariables() };
  execFileSync(program!, args, { env, stdio: ["ignore", 2, 2] });
}

function copyInto(image: Image, text: string, stages: ReadonlyMap<string, Image>): void {
  const [, from, rest] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(text)!;
  const source = from === undefined ? ROOT : stages.get(from)!.root;
  const names = rest!.split(/\s+/);
  const target = resolve(image.workdir, names.at(-1)!);
  const intoFolder = /(^|\/)\.?\/?$/.test(names.at(-1)!);
  for (const name of names.slice(0, -1)) {
    const path = join(source, name);
    // A folder is copied as its contents.
    const to = statSync(path).isDirectory() || !intoFolder ? target : join(target, basename(name));
    cpSync(path, join(image.root, to), { recursive: true, verbatimSymlinks: true });
  }
}

function readVariables(text: string): [string, string][] {
  return text.split(/\s+/).map((pair) => /^(\w+)=(.*)$/.exec(pair)!.slice(1) as [string, string]);
}

const words = (text: string): string[] => JSON.parse(text) as string[];

/** The effect of each instruction on the current image. */
const STEPS: Record<string, (image: Image, text: string, stages: ReadonlyMap<string, Image>) => void> = {
  WORKDIR(image, text) {
    image.workdir = resolve(image.workdir, text);
    mkdirSync(join(image.root, image.workdir), { recursive: true });
  },
  COPY: copyInto,
  RUN: run,
  USER(image, text) {
    image.user = text;
  },
  ENV(image, text) {
    Object.assign(image.environment, Object.fromEntries(readVariables(text)));
  },
  HEALTHCHECK(image, text) {
    image.health = words(text.slice(text.indexOf("CMD") + 3));
  },
  ENTRYPOINT(image, text) {
    image.entrypoint = words(text);
  },
  CMD(image, text) {
    image.command = words(text);
  },
  EXPOSE() {},
  STOPSIGNAL() {},
};

function begin(root: string, base: string): Image {
  const [, version] = /^node:(\d+)-/.exec(base) ?? [];
  const node = findNode(version ?? base);
  if ("missing" in node) throw new Error(node.missing);
  makeDebianFolder(root, node.path);
  const nothing = { environment: {}, health: [], entrypoint: [], command: [] };
  return { root, user: "0:0", workdir: "/", ...nothing };
}

/** Runs all steps. @returns the image of the last stage */
export function runContainerfile(folder: string, file: string): Image {
  const stages = new Map<string, Image>();
  let image: Image | undefined;
  for (const { name, text } of readInstructions(file)) {
    console.error(`${name} ${text}`);
    if (name === "FROM") {
      const [base, , as = "image"] = text.split(/\s+/);
      image = begin(join(folder, as), base!);
      stages.set(as, image);
    } else {
      const step = STEPS[name];
      if (step === undefined || image === undefined) throw new Error(`unknown instruction: ${name}`);
      step(image, text, stages);
    }
  }
  return image!;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, file = join(ROOT, "deploy/Containerfile")] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: tsx tools/containerfile.ts FOLDER [FILE]");
  const image = runContainerfile(resolve(folder), file);
  const variables = Object.entries(environmentOf(image)).map(([name, value]) => `${name}=${value}`);
  const command = ["env", "-i", ...variables, ...commandIn(image, [...image.entrypoint, ...image.command])];
  console.log(command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" "));
}
