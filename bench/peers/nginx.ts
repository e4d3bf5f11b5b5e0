/**
 * nginx with one worker that sends the recorded body from a file: a server in C that computes nothing. Ends with status 3
 * when nginx is not installed.
 *
 *     nginx.ts SNAPSHOT KEYS REPLY [--access-log FILE]
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RecordedReply, ready } from "./shared.ts";

if (spawnSync("nginx", ["-v"]).status !== 0) {
  console.error("nginx is not installed");
  process.exit(3);
}

/** A port that was free a moment ago: nginx cannot report a port that it picked itself. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The recorded headers that nginx does not add itself. */
function headerLines({ headers }: RecordedReply): string {
  const own = new Set(["content-type", "content-length"]);
  const lines: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!;
    if (!own.has(name.toLowerCase())) lines.push(`add_header ${name} '${headers[at + 1]}';`);
  }
  return lines.join(" ");
}

/** A single process, so that it can be measured; it runs as the user that made the folder. */
function configOf(folder: string, port: number, reply: RecordedReply): string {
  const temps = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `
    daemon off; master_process off; worker_processes 1;
    pid ${folder}/pid; error_log stderr crit;
    events { worker_connections 512; }
    http {
      access_log ${accessLog}; etag off; server_tokens off; open_file_cache max=4;
      sendfile on; tcp_nopush on;
      keepalive_requests 1000000000; keepalive_timeout ${reply.keepAliveTimeout / 1000};
      default_type "application/json; charset=utf-8";
      ${temps.join(" ")}
      server {
        listen 127.0.0.1:${port};
        root ${folder};
        location / { try_files /body =404; ${headerLines(reply)} }
      }
    }`;
}

const given = process.argv.indexOf("--access-log");
/** With a file, nginx writes its own log, one line a request. */
const accessLog = given < 0 ? "off" : process.argv[given + 1];
const reply = JSON.parse(readFileSync(process.argv[4]!, "utf8")) as RecordedReply;
const folder = mkdtempSync(join(tmpdir(), "orrery-bench-nginx-"));
const port = await freePort();
writeFileSync(join(folder, "body"), reply.body, "latin1");
writeFileSync(join(folder, "nginx.conf"), configOf(folder, port, reply));
const nginx = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"], {
  stdio: ["ignore", "ignore", "inherit"],
});
process.on("SIGTERM", () => nginx.kill("SIGTERM"));
nginx.on("exit", () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit();
});

for (;;) {
  const socket = connect(port, "127.0.0.1");
  const connected = await new Promise((resolve) => {
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
  });
  socket.destroy();
  if (connected) break;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
ready(`http://127.0.0.1:${port}`, nginx.pid!);
