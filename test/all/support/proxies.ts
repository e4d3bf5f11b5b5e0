/**
 * nginx and HAProxy: as a host of snapshots, as the balancers of `deploy/`, and as proxies over few shared connections. Apache: as
 * a forward proxy. All of them and Caddy: as proxies that compress.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "../../support/ports.ts";
import { get, type Program, start, until } from "../../support/process.ts";
import { ROOT } from "../../support/program.ts";
import { ask } from "./fleet.ts";

const DEPLOY = join(ROOT, "deploy");

/** Connections to a server that the clients of a proxy share. */
const SHARED = 4;

export type RunningProxy = Awaited<ReturnType<typeof running>>;

/** Waits until a program is up. @param isUp may reject */
async function running(
  { child, ended, stdout, stderr }: Program,
  port: number,
  isUp: (port: number) => Promise<unknown> = listens,
  log = () => stdout() + stderr(),
) {
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${log()}`);
      return isUp(port).catch(() => undefined);
    },
    () => `it to be up: ${log()}`,
  );
  const end = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  return { port, log, end };
}

/** Runs nginx on a free port. @param http contents of the block `http` */
async function runNginx(
  folder: string,
  http: (port: number) => string,
  isUp: (port: number) => Promise<unknown> = listens,
): Promise<RunningProxy> {
  const port = await freePort();
  mkdirSync(join(folder, "temp"), { recursive: true });
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, "temp", name)};`,
  );
  const [file, log] = [join(folder, "nginx.conf"), join(folder, "error.log")];
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${log}; user root;
     events { worker_connections 4096; } http { ${temp.join(" ")} ${http(port)} }`,
  );
  const program = start(["-p", folder, "-c", file], {}, ["nginx"]);
  return running(program, port, isUp, () => readFileSync(log, "utf8"));
}

/** Runs HAProxy on a free port. */
async function runHaproxy(
  folder: string,
  configuration: (port: number) => string,
  isUp: (port: number) => Promise<unknown> = listens,
): Promise<RunningProxy> {
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, configuration(port));
  return running(start(["-db", "-f", file], {}, ["haproxy"]), port, isUp);
}

/**
 * nginx over `web` in a folder; compresses with gzip for clients that accept it.
 *
 * @param server contents of the block `server` after `listen`
 * @returns the URL of `web/current/`, and the lines of its request log
 */
export async function startNginx(
  t: { after(done: () => Promise<void>): void },
  folder: string,
  // A compressed file that is compressed once more is not the file of the manifest.
  server = `root ${folder}/web; location ~ \\.gz$ { gzip off; }`,
): Promise<{ url: string; asked: () => string[] }> {
  const http = (port: number): string => `
    log_format asked '$status $request_uri $body_bytes_sent $http_authorization'; access_log ${folder}/asked asked;
    gzip on; gzip_types *; gzip_min_length 1;
    server { listen 127.0.0.1:${port}; ${server} }`;
  const urlOf = (port: number): string => `http://127.0.0.1:${port}/current/`;
  const { port, end } = await runNginx(folder, http, (port) => get(urlOf(port)));
  t.after(end);
  return {
    url: urlOf(port),
    asked: () => readFileSync(join(folder, "asked"), "utf8").split("\n").slice(0, -1),
  };
}

interface Address {
  readonly port: number;
  readonly adminPort: number;
}

/** Writes a certificate for `api.example.com`, `localhost` and 127.0.0.1, signed by itself. */
export function certificate(folder: string): { key: string; pem: string } {
  const [key, pem] = [join(folder, "site.key"), join(folder, "site.pem")];
  const args = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=api.example.com"];
  const names = ["-addext", "subjectAltName=DNS:api.example.com,DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", ["req", ...args, ...names, "-keyout", key, "-out", pem], { stdio: "ignore" });
  return { key, pem };
}

/** Replaces a text that must occur. */
function swap(text: string, old: string | RegExp, by: string): string {
  const changed = text.replace(old, () => by);
  if (changed === text) throw new Error(`${old} is not in the configuration`);
  return changed;
}

const answers = (port: number): Promise<unknown> => ask(port, "/stats", "none");

async function startNginxSite(folder: string, replicas: readonly Address[]): Promise<RunningProxy> {
  certificate(folder);
  let site = readFileSync(join(DEPLOY, "nginx.conf"), "utf8");
  for (const failures of ["max_fails=1 fail_timeout=2s", "max_fails=0"]) {
    const servers = replicas.map((replica) => `server 127.0.0.1:${replica.port} ${failures};`);
    site = swap(site, `    server 127.0.0.1:8787 ${failures};`, servers.join("\n    "));
  }
  site = swap(site, "    listen [::]:443 ssl http2;\n", "");
  site = site.replaceAll("/etc/nginx/tls/api.example.com", join(folder, "site"));
  const http = (port: number): string =>
    `access_log off; ${swap(site, "listen 443 ssl http2", `listen 127.0.0.1:${port} ssl http2`)}`;
  return runNginx(folder, http, answers);
}

async function startHaproxy(folder: string, replicas: readonly Address[]): Promise<RunningProxy> {
  const { key, pem } = certificate(folder);
  appendFileSync(pem, readFileSync(key));
  let configuration = readFileSync(join(DEPLOY, "haproxy.cfg"), "utf8");
  configuration = swap(configuration, "/etc/haproxy/api.example.com.pem", pem);
  configuration = swap(configuration, " port 8788", "");
  ["a", "b", "c"].forEach((name, index) => {
    const replica = replicas[index];
    const server = replica && `server ${name} 127.0.0.1:${replica.port} port ${replica.adminPort}`;
    configuration = swap(configuration, new RegExp(`server ${name} .*`), server ?? "");
  });
  return runHaproxy(folder, (port) => swap(configuration, "bind :443 ", `bind 127.0.0.1:${port} `), answers);
}

/** How a proxy is configured: by default, or to pass on as much as it can. */
export type Strictness = "strict" | "lenient";

function listens(port: number): Promise<true> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", reject);
  });
}

/** nginx; a lenient one passes invalid fields, Upgrade and unbuffered bodies on. */
function startSharingNginx(folder: string, server: string, kind: Strictness): Promise<RunningProxy> {
  const lenient = `ignore_invalid_headers off; underscores_in_headers on; merge_slashes off;
    proxy_request_buffering off; proxy_set_header Upgrade $http_upgrade; proxy_set_header Expect $http_expect;`;
  const http = (own: number): string => `access_log off;
    map $uri $own { "~^(?<it>/[rn]/[0-9]+)$" $it; default /odd; }
    map $http_upgrade $passed { default "upgrade"; "" ""; }
    upstream server { server ${server} max_fails=0; keepalive ${SHARED}; }
    server { listen 127.0.0.1:${own}; keepalive_requests 100000; client_body_timeout 5s; lingering_close off;
      ${kind === "lenient" ? lenient : ""}
      location / { proxy_pass http://server; proxy_http_version 1.1; proxy_next_upstream off;
        proxy_set_header Connection ${kind === "lenient" ? "$passed" : '""'};
        proxy_set_header X-Request-Id "fwd$own"; } }`;
  return runNginx(folder, http);
}

/** Whether this HAProxy accepts a line in a section. */
function knows(folder: string, section: string, line: string): boolean {
  const file = join(folder, "try.cfg");
  writeFileSync(file, `${section}\n  ${line}\n`);
  const { stdout, stderr } = spawnSync("haproxy", ["-c", "-f", file], { encoding: "utf8" });
  return !/unknown|not supported|expects/.test(stdout + stderr);
}

const HAPROXY_DEFAULTS = `defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
  retries 0`;

/** HAProxy; a lenient one accepts requests that it would refuse by default, and bodies with any method. */
function startSharingHaproxy(folder: string, server: string, kind: Strictness): Promise<RunningProxy> {
  mkdirSync(folder, { recursive: true });
  const lenient = (section: string, ...lines: string[]): string =>
    kind === "strict" ? "" : lines.filter((line) => knows(folder, section, line)).join("\n  ");
  const anyRequest = lenient(
    "defaults",
    "option accept-unsafe-violations-in-http-request",
    "option accept-invalid-http-request",
  );
  const isOwn = "{ path -m reg ^/[rn]/[0-9]+$ }";
  const configuration = (own: number): string => `global
  maxconn 2000
  ${lenient("global", "h1-accept-payload-with-any-method")}
${HAPROXY_DEFAULTS}
frontend f
  bind 127.0.0.1:${own}
  ${anyRequest}
  http-request set-var(txn.own) path if ${isOwn}
  http-request set-header X-Request-Id fwd/odd
  http-request set-header X-Request-Id fwd%[path] if ${isOwn}
  default_backend b
backend b
  http-reuse always
  server s ${server} maxconn ${SHARED} pool-max-conn ${SHARED} pool-purge-delay 60s
`;
  return runHaproxy(folder, configuration);
}

/** Starts either, before a server by its address; each sets the request id to `fwd` and the path, or to `fwd/odd` for unusual paths. */
export const PROXIES = { nginx: startSharingNginx, HAProxy: startSharingHaproxy };

export const BALANCERS = { nginx: startNginxSite, HAProxy: startHaproxy };

function startCompressingNginx(folder: string, port: number): Promise<RunningProxy> {
  const http = (
    own: number,
  ): string => `access_log off; gzip on; gzip_types application/json; gzip_proxied any;
    server { listen 127.0.0.1:${own}; location / { proxy_pass http://127.0.0.1:${port}; } }`;
  return runNginx(folder, http);
}

function startCompressingHaproxy(folder: string, port: number): Promise<RunningProxy> {
  const configuration = (own: number): string => `${HAPROXY_DEFAULTS}
frontend f
  bind 127.0.0.1:${own}
  filter compression
  compression algo gzip
  compression type application/json
  default_backend b
backend b
  option httpchk
  server s 127.0.0.1:${port} check inter 200ms
`;
  // It asks OPTIONS / and answers 503 itself while it believes the server to be down.
  const isUp = async (own: number): Promise<boolean> =>
    (await get(`http://127.0.0.1:${own}/`)).status === 302;
  return runHaproxy(folder, configuration, isUp);
}

async function runApache(folder: string, modules: string, lines: readonly string[]): Promise<RunningProxy> {
  const own = await freePort();
  mkdirSync(folder, { recursive: true });
  const [file, log] = [join(folder, "apache.conf"), join(folder, "error.log")];
  const all = [
    ...`mpm_event authz_core ${modules}`
      .split(" ")
      .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
    ...["User www-data", "Group www-data", `ServerRoot ${folder}`, "ServerName localhost"],
    ...[`PidFile ${folder}/pid`, `DefaultRuntimeDir ${folder}`, `ErrorLog ${log}`, `Listen 127.0.0.1:${own}`],
    ...lines,
  ];
  writeFileSync(file, all.join("\n"));
  const program = start(["-f", file, "-D", "FOREGROUND"], {}, ["apache2"]);
  return running(program, own);
}

function startCompressingApache(folder: string, port: number): Promise<RunningProxy> {
  return runApache(folder, "filter deflate proxy proxy_http", [
    "AddOutputFilterByType DEFLATE application/json",
    `ProxyPass / http://127.0.0.1:${port}/`,
  ]);
}

/** A forward proxy that asks for the name `me` and a password. @returns it, and the lines `STATUS METHOD TARGET` of its request log */
export async function startForwardProxy(
  folder: string,
  password: string,
): Promise<RunningProxy & { readonly asked: () => string[] }> {
  mkdirSync(folder, { recursive: true });
  const [people, asked] = [join(folder, "people"), join(folder, "asked")];
  writeFileSync(people, `me:{SHA}${createHash("sha1").update(password).digest("base64")}\n`);
  const modules = "proxy proxy_http proxy_connect auth_basic authn_core authn_file authz_user";
  const proxy = await runApache(folder, modules, [
    `LogFormat "%>s %m %U" asked\nCustomLog ${asked} asked`,
    "ProxyRequests On\nAllowCONNECT 1-65535",
    "<Proxy *>\nAuthType Basic\nAuthName proxy",
    `AuthBasicProvider file\nAuthUserFile ${people}\nRequire valid-user\n</Proxy>`,
  ]);
  // Its workers make the log a moment after they listen.
  const lines = (): string[] =>
    existsSync(asked) ? readFileSync(asked, "utf8").split("\n").slice(0, -1) : [];
  return { ...proxy, asked: lines };
}

async function startCompressingCaddy(folder: string, port: number): Promise<RunningProxy> {
  const own = await freePort();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "Caddyfile");
  const site = `bind 127.0.0.1\n encode gzip\n reverse_proxy 127.0.0.1:${port}`;
  writeFileSync(file, `{\n admin off\n auto_https off\n}\nhttp://:${own} {\n ${site}\n}\n`);
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const program = start(["run", "--config", file, "--adapter", "caddyfile"], home, ["caddy"]);
  return running(program, own);
}

/** Proxies that compress JSON, without TLS, by their defaults otherwise. */
export const COMPRESSORS = {
  nginx: startCompressingNginx,
  HAProxy: startCompressingHaproxy,
  Apache: startCompressingApache,
  Caddy: startCompressingCaddy,
};
