/** Sockets that another process keeps: restarts under load, Debian's systemd-socket-activate, and proxies over Unix sockets. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { place, TOKEN } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { environment, start, textOf, until } from "../support/process.ts";
import { COMMAND, ROOT } from "../support/program.ts";

const TARGET = "/api/public/v1/worlds?limit=5";
const headers = { Authorization: `Bearer ${TOKEN}` };

/** Holds a socket as a service manager does, and starts the command at each line of its input. */
const HOLDER = `
import os, socket, sys
where = sys.argv[1]
if where.isdigit():
    held = socket.socket(); held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); held.bind(("127.0.0.1", int(where)))
else:
    held = socket.socket(socket.AF_UNIX); held.bind(where)
held.listen(4096)
fd = os.dup2(held.fileno(), 3, inheritable=True) if held.fileno() != 3 else 3
os.set_inheritable(3, True)
child = 0
def stop():
    if child:
        os.kill(child, 15)
        os.waitpid(child, 0)
for line in sys.stdin:
    stop()
    child = os.fork()
    if child == 0:
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        os.execvp(sys.argv[2], sys.argv[2:])
stop()
`;

function ask(where: string, agent: Agent | false): Promise<number> {
  const at = /^\d+$/.test(where) ? { host: "127.0.0.1", port: Number(where) } : { socketPath: where };
  return new Promise((resolve, reject) => {
    request({ ...at, path: TARGET, headers, agent }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode!));
      response.once("error", reject);
    })
      .once("error", reject)
      .end();
  });
}

for (const kind of ["TCP", "Unix"]) {
  test(`five restarts under load refuse and lose nothing, over a ${kind} socket`, async (t) => {
    const { folder, snapshot, keys } = place(t);
    const where = kind === "TCP" ? String(await freePort()) : join(folder, "kept.sock");
    const more = ["--similar", "off", "--rate-limit", "1000000"];
    const args = ["serve", "--snapshot", snapshot, "--keys", keys, ...more];
    const holder = spawn("python3", ["-c", HOLDER, where, ...COMMAND, ...args], {
      cwd: ROOT,
      env: environment(),
    });
    t.after(() => holder.stdin.end());
    const said = textOf(holder.stdout);
    const starts = (): number => said().split("orrery listening on").length - 1;
    holder.stdin.write("start\n");
    await until(() => starts() === 1, "the first start");
    let isOver = false;
    const outcomes = new Map<string, number>();
    const load = async (agent: Agent | false): Promise<void> => {
      while (!isOver) {
        // A keep-alive connection that its server has just closed is the client's to open again.
        const outcome = await ask(where, agent).then(String, (error: NodeJS.ErrnoException) => error.code!);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    };
    const agents = [
      false,
      false,
      false,
      false,
      new Agent({ keepAlive: true, maxSockets: 1 }),
      new Agent({ keepAlive: true, maxSockets: 1 }),
    ] as const;
    const loads = agents.map(load);
    for (let restart = 2; restart <= 6; restart++) {
      await sleep(300);
      holder.stdin.write("again\n");
      await until(() => starts() === restart, "a restart");
    }
    await sleep(300);
    isOver = true;
    await Promise.all(loads);
    for (const agent of agents) if (agent) agent.destroy();
    if (kind === "Unix") assert.ok(said().includes(`orrery listening on unix:${where} generation=`), said());
    assert.deepEqual([...outcomes.keys()], ["200"], JSON.stringify([...outcomes]));
    assert.ok(outcomes.get("200")! > 100);
    holder.stdin.end();
    await once(holder, "exit");
  });
}

/** Hands over a socket that a service manager would not. */
const UNREADY = `
import os, socket, sys
kind, path = sys.argv[1:3]
held = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
if kind == "bound": held.bind(("127.0.0.1", 0))
if kind == "unix": held.bind(path)
if kind == "connected":
    other = socket.socket(); other.bind(("127.0.0.1", 0)); other.listen()
    held.connect(other.getsockname())
os.dup2(held.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execvp(sys.argv[3], sys.argv[3:])
`;

for (const kind of ["unbound", "bound", "unix", "connected"]) {
  test(`a socket that does not listen is refused in one line: ${kind}`, async (t) => {
    const { folder, snapshot, keys } = place(t);
    const args = [...COMMAND, "serve", "--snapshot", snapshot, "--keys", keys, "--similar", "off"];
    const { status, stdout, stderr } = spawnSync(
      "python3",
      ["-c", UNREADY, kind, join(folder, "api.sock"), ...args],
      { cwd: ROOT, env: environment(), encoding: "utf8", timeout: 60_000 },
    );
    assert.deepEqual([status, stdout], [1, ""], stderr);
    assert.match(stderr, /orrery: cannot listen on fd:3: descriptor 3 is no listening socket\n$/);
  });
}

test("systemd-socket-activate hands its socket over", async (t) => {
  const { snapshot, keys } = place(t);
  const port = String(await freePort());
  const args = ["serve", "--snapshot", snapshot, "--keys", keys, "--similar", "off"];
  const child = spawn("systemd-socket-activate", ["-l", `127.0.0.1:${port}`, ...COMMAND, ...args], {
    cwd: ROOT,
    env: environment(),
  });
  t.after(() => child.kill("SIGKILL"));
  const said = textOf(child.stderr);
  await until(() => said().includes("Listening on"), "systemd-socket-activate");
  // The first connection starts it, and waits.
  assert.equal(await ask(port, false), 200);
  child.kill("SIGTERM");
  const [status] = await once(child, "exit");
  assert.equal(status, 0, said());
});

test("nginx and HAProxy ask over a Unix socket", async (t) => {
  const { folder, snapshot, keys } = place(t);
  const path = join(folder, "api.sock");
  const server = start([
    "serve",
    "--snapshot",
    snapshot,
    "--keys",
    keys,
    "--host",
    `unix:${path}`,
    "--similar",
    "off",
  ]);
  await until(() => server.stdout().includes("\n"), "the server");
  const [nginx, haproxy] = [await freePort(), await freePort()];
  const place1 = join(folder, "nginx");
  mkdirSync(place1);
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; master_process off; pid ${place1}/pid; error_log stderr;
     events {}
     http { access_log off; client_body_temp_path ${place1}/b; proxy_temp_path ${place1}/p; fastcgi_temp_path ${place1}/f;
       uwsgi_temp_path ${place1}/u; scgi_temp_path ${place1}/s;
       upstream orrery { server unix:${path}; keepalive 8; }
       server { listen 127.0.0.1:${nginx}; location / { proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://orrery; } } }\n`,
  );
  writeFileSync(
    join(folder, "haproxy.cfg"),
    `defaults
  mode http
  timeout connect 2s
  timeout client 5s
  timeout server 5s
listen orrery
  bind 127.0.0.1:${haproxy}
  server a unix@${path}\n`,
  );
  const proxies = [
    spawn("nginx", ["-c", join(folder, "nginx.conf"), "-p", place1], { stdio: "ignore" }),
    spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { stdio: "ignore" }),
  ];
  t.after(() => {
    for (const proxy of proxies) proxy.kill("SIGKILL");
  });
  for (const port of [nginx, haproxy]) {
    const status = await until(() => ask(String(port), false).catch(() => undefined), "the proxy");
    assert.equal(status, 200);
  }
  await server.stop("SIGTERM");
  assert.ok(!existsSync(path));
});
