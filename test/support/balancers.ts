/** The load balancers of `deploy/`, run with the configurations there. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ask } from "./fleet.ts";
import { freePort } from "./free-port.ts";
import { until } from "./process.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy", import.meta.url));

/** Where a replica listens. */
export interface Address {
  readonly port: number;
  readonly adminPort: number;
}

/** A balancer that runs. */
export interface Balancer {
  /** For HTTPS, HTTP/2 too. */
  readonly port: number;
  /** What it said, for whoever looks for a reason. */
  readonly log: () => string;
  readonly end: () => Promise<void>;
}

function certificate(folder: string): { key: string; pem: string } {
  const [key, pem] = [join(folder, "site.key"), join(folder, "site.pem")];
  const args = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=api.example.com"];
  execFileSync("openssl", ["req", ...args, "-keyout", key, "-out", pem], { stdio: "ignore" });
  return { key, pem };
}

/** Replaces a text that must be there. */
function swap(text: string, old: string | RegExp, by: string): string {
  const changed = text.replace(old, () => by);
  if (changed === text) throw new Error(`${old} is not in the configuration`);
  return changed;
}

async function running(
  child: ChildProcess,
  port: number,
  log: () => string,
  stop: NodeJS.Signals,
): Promise<Balancer> {
  const exited = once(child, "exit");
  const end = async (): Promise<void> => {
    child.kill(stop);
    await exited;
  };
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`the balancer ended: ${log()}`);
      return ask(port, "/stats", "none").catch(() => undefined);
    },
    () => `the balancer to answer: ${log()}`,
  );
  return { port, log, end };
}

/** nginx with `deploy/nginx.conf`. */
export async function startNginxSite(
  folder: string,
  replicas: readonly Pick<Address, "port">[],
): Promise<Balancer> {
  const port = await freePort();
  certificate(folder);
  let site = readFileSync(join(DEPLOY, "nginx.conf"), "utf8");
  for (const failures of ["max_fails=1 fail_timeout=2s", "max_fails=0"]) {
    const servers = replicas.map((replica) => `server 127.0.0.1:${replica.port} ${failures};`);
    site = swap(site, `    server 127.0.0.1:8787 ${failures};`, servers.join("\n    "));
  }
  site = swap(site, "listen 443 ssl http2", `listen 127.0.0.1:${port} ssl http2`);
  site = swap(site, "    listen [::]:443 ssl http2;\n", "");
  site = site.replaceAll("/etc/nginx/tls/api.example.com", join(folder, "site"));
  mkdirSync(join(folder, "temp"));
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, "temp", name)};`,
  );
  const file = join(folder, "nginx.conf");
  const log = join(folder, "error.log");
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${log};
     events { worker_connections 4096; } http { access_log off; ${temp.join(" ")} ${site} }`,
  );
  const child = spawn("nginx", ["-p", folder, "-c", file], { stdio: "inherit" });
  return running(child, port, () => readFileSync(log, "utf8"), "SIGTERM");
}

/** HAProxy with `deploy/haproxy.cfg`. */
export async function startHaproxy(folder: string, replicas: readonly Address[]): Promise<Balancer> {
  const port = await freePort();
  const { key, pem } = certificate(folder);
  appendFileSync(pem, readFileSync(key));
  let configuration = readFileSync(join(DEPLOY, "haproxy.cfg"), "utf8");
  configuration = swap(configuration, "bind :443 ", `bind 127.0.0.1:${port} `);
  configuration = swap(configuration, "/etc/haproxy/api.example.com.pem", pem);
  configuration = swap(configuration, " port 8788", "");
  ["a", "b", "c"].forEach((name, index) => {
    const replica = replicas[index];
    const server = replica && `server ${name} 127.0.0.1:${replica.port} port ${replica.adminPort}`;
    configuration = swap(configuration, new RegExp(`server ${name} .*`), server ?? "");
  });
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, configuration);
  let said = "";
  const child = spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  return running(child, port, () => said, "SIGTERM");
}
