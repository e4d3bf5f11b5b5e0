/** nginx and HAProxy in front of one server, over few connections that all clients share. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { until } from "./process.ts";

/** Connections to the server that clients share. */
const SHARED = 4;

/** A proxy that runs. */
export interface Proxy {
  readonly port: number;
  readonly end: () => Promise<void>;
}

/** How a proxy is configured: as it comes, or to pass on as much as it can. */
export type Strictness = "strict" | "lenient";

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function running(child: ChildProcess, port: number): Promise<Proxy> {
  const exited = once(child, "exit");
  let said = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4000);
  });
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`the proxy ended: ${said}`);
      return listens(port);
    },
    () => `the proxy to listen: ${said}`,
  );
  const end = async (): Promise<void> => {
    child.kill("SIGTERM");
    await exited;
  };
  return { port, end };
}

/** nginx; a lenient one passes invalid fields, Upgrade and unbuffered bodies on. */
async function startNginx(folder: string, port: number, kind: Strictness): Promise<Proxy> {
  const own = await freePort();
  mkdirSync(join(folder, "temp"), { recursive: true });
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, "temp", name)};`,
  );
  const lenient = `ignore_invalid_headers off; underscores_in_headers on; merge_slashes off;
    proxy_request_buffering off; proxy_set_header Upgrade $http_upgrade; proxy_set_header Expect $http_expect;`;
  const file = join(folder, "nginx.conf");
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log crit; user root;
     events {} http { access_log off; ${temp.join(" ")}
       map $uri $own { "~^(?<it>/[rn]/[0-9]+)$" $it; default /odd; }
       map $http_upgrade $passed { default "upgrade"; "" ""; }
       upstream server { server 127.0.0.1:${port} max_fails=0; keepalive ${SHARED}; }
       server { listen 127.0.0.1:${own}; keepalive_requests 100000; client_body_timeout 5s; lingering_close off;
         ${kind === "lenient" ? lenient : ""}
         location / { proxy_pass http://server; proxy_http_version 1.1; proxy_next_upstream off;
           proxy_set_header Connection ${kind === "lenient" ? "$passed" : '""'};
           proxy_set_header X-Request-Id "fwd$own"; } } }`,
  );
  const child = spawn("nginx", ["-p", folder, "-c", file], { stdio: ["ignore", "ignore", "pipe"] });
  return await running(child, own);
}

/** Whether this HAProxy knows a line of a section. */
function knows(folder: string, section: string, line: string): boolean {
  const file = join(folder, "try.cfg");
  writeFileSync(file, `${section}\n  ${line}\n`);
  const { stdout, stderr } = spawnSync("haproxy", ["-c", "-f", file], { encoding: "utf8" });
  return !/unknown|not supported|expects/.test(stdout + stderr);
}

/** HAProxy; a lenient one takes what it would refuse, from clients and with any method. */
async function startHaproxy(folder: string, port: number, kind: Strictness): Promise<Proxy> {
  const own = await freePort();
  mkdirSync(folder, { recursive: true });
  const lenient = (section: string, ...lines: string[]): string =>
    kind === "strict" ? "" : lines.filter((line) => knows(folder, section, line)).join("\n  ");
  const anyRequest = lenient(
    "defaults",
    "option accept-unsafe-violations-in-http-request",
    "option accept-invalid-http-request",
  );
  const isOwn = "{ path -m reg ^/[rn]/[0-9]+$ }";
  const file = join(folder, "haproxy.cfg");
  writeFileSync(
    file,
    `global
  maxconn 2000
  ${lenient("global", "h1-accept-payload-with-any-method")}
defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
  retries 0
frontend f
  bind 127.0.0.1:${own}
  ${anyRequest}
  http-request set-var(txn.own) path if ${isOwn}
  http-request set-header X-Request-Id fwd/odd
  http-request set-header X-Request-Id fwd%[path] if ${isOwn}
  default_backend b
backend b
  http-reuse always
  server s 127.0.0.1:${port} maxconn ${SHARED} pool-max-conn ${SHARED} pool-purge-delay 60s
`,
  );
  const child = spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
  return await running(child, own);
}

/** Starts either; each replaces the request id by `fwd` and the path, or `fwd/odd` for unusual paths. */
export const PROXIES = { nginx: startNginx, HAProxy: startHaproxy };
