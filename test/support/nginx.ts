/** nginx as a static host of snapshots, and as a proxy that compresses. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { get, until } from "./process.ts";

/**
 * Serves `web` in a folder, with gzip on the way where it is asked for.
 *
 * @param server what stands in its place in the server's block
 * @returns the URL of `web/current/`, and the lines of its log of requests
 */
export async function startNginx(
  t: { after(done: () => Promise<void>): void },
  folder: string,
  server = `root ${folder}/web;`,
): Promise<{ url: string; asked: () => string[] }> {
  const port = await freePort();
  mkdirSync(join(folder, "temp"));
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, "temp", name)};`,
  );
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log; user root;
     events {} http { ${temp.join(" ")}
       log_format asked '$status $request_uri $body_bytes_sent $http_authorization'; access_log ${folder}/asked asked;
       gzip on; gzip_types *; gzip_min_length 1;
       server { listen 127.0.0.1:${port}; ${server} } }`,
  );
  const nginx = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "inherit" });
  const exited = once(nginx, "exit");
  t.after(async () => {
    nginx.kill("SIGTERM");
    await exited;
  });
  const url = `http://127.0.0.1:${port}/current/`;
  await until(() => get(url).catch(() => undefined), "nginx to answer");
  const asked = (): string[] => readFileSync(join(folder, "asked"), "utf8").split("\n").slice(0, -1);
  return { url, asked };
}
