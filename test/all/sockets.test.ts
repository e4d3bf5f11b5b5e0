/**
 * Unix sockets, and sockets that were handed over by the process that started the server: its restarts under
 * load, and Debian's systemd-socket-activate.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, symlinkSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { createServer, isIPv4, type Server } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { takeInherited } from "../../src/cli/inherited.ts";
import { listenAtPath } from "../../src/http/unix.ts";
import { readClients } from "../../src/model/client-address.ts";
import { place, TOKEN } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import {
  afterTests,
  environment,
  get,
  jsonLines,
  keepAlive,
  start,
  textOf,
  until,
} from "../support/process.ts";
import { COMMAND, ROOT } from "../support/program.ts";

const STATS = "/api/public/v1/stats";

const ask = async (socketPath: string, path = STATS): Promise<number> =>
  (await get(`http://localhost${path}`, { token: TOKEN, socketPath })).status;

function settings(t: Parameters<typeof place>[0]) {
  const { folder, snapshot, keys } = place(t);
  return { folder, args: ["serve", "--snapshot", snapshot, "--keys", keys, "--similar", "off"] };
}

describe("a Unix socket", { concurrency: 2 }, () => {
  for (const http of ["direct", "node"]) {
    test(`is made for owner and group, named on stdout, in the log, and removed at the stop, over ${http}`, async (t) => {
      const { folder, args } = settings(t);
      const [path, admin] = [join(folder, "api.sock"), join(folder, "admin.sock")];
      const places = ["--host", `unix:${path}`, "--admin", `unix:${admin}`, "--http", http, "--access-log"];
      const program = start([...args, ...places]);
      await until(() => program.stdout().includes("\n"), "the line");
      assert.match(program.stdout(), new RegExp(`^orrery listening on unix:${path} generation=\\S+\n$`));
      for (const one of [path, admin]) {
        const { mode } = lstatSync(one);
        assert.ok(lstatSync(one).isSocket());
        assert.equal(mode & 0o777, 0o660);
      }
      assert.equal(await ask(path), 200);
      assert.equal(await ask(admin, "/livez"), 200);
      const second = start([...args, "--host", `unix:${path}`]);
      assert.deepEqual(
        [(await second.ended).status, second.stderr().trim().split("\n").at(-1)],
        [1, `orrery: cannot listen on unix:${path}: a server listens at ${path} already`],
      );
      assert.equal(await ask(path), 200);
      await program.stop("SIGTERM");
      for (const one of [path, admin]) assert.throws(() => lstatSync(one), { code: "ENOENT" });
      const line = jsonLines(program.stderr()).find(({ event }) => event === "request");
      assert.equal(line!.client, "unix");
    });
  }

  test("takes the place of a dead one, and of no other file", async (t) => {
    const { folder, args } = settings(t);
    const path = join(folder, "api.sock");
    const first = start([...args, "--host", `unix:${path}`]);
    await until(() => first.stdout().includes("\n"), "the line");
    first.child.kill("SIGKILL");
    await first.ended;
    assert.ok(lstatSync(path).isSocket());
    const again = start([...args, "--host", `unix:${path}`]);
    await until(() => again.stdout().includes("\n"), "the second line");
    assert.equal(await ask(path), 200);
    await again.stop("SIGTERM");
    writeFileSync(join(folder, "a-file"), "mine");
    symlinkSync(join(folder, "a-file"), join(folder, "a-link"));
    const long = join(folder, "x".repeat(90));
    const bad: readonly (readonly [host: string, status: number, says: RegExp])[] = [
      [`unix:${join(folder, "a-file")}`, 1, /a-file is there and is not a socket$/],
      [`unix:${join(folder, "a-link")}`, 1, /a-link is there and is not a socket$/],
      [`unix:${join(folder, "none/a.sock")}`, 1, /the folder \S+none does not exist$/],
      [`unix:${long}`, 2, /--host: must be a path of at most 90 bytes/],
    ];
    for (const [host, status, says] of bad) {
      const program = start([...args, "--host", host]);
      assert.equal((await program.ended).status, status, host);
      const lines = program.stderr().trim().split("\n");
      assert.match(lines.find((line) => line.startsWith("orrery: "))!, says);
    }
    assert.ok(lstatSync(join(folder, "a-link")).isSymbolicLink());
    const threads = start([...args, "--host", `unix:${path}`, "--threads", "2"]);
    assert.equal((await threads.ended).status, 2);
    assert.match(threads.stderr(), /--threads: more than one not with a Unix socket/);
  });
});

test("a Unix socket has its mode when it is made, whatever the umask", async (t) => {
  const { folder } = place(t);
  for (const umask of [0, 0o022, 0o177]) {
    const before = process.umask(umask);
    const server = createServer();
    const path = join(folder, `${umask}.sock`);
    try {
      await listenAtPath(server, path);
      assert.equal(process.umask(), umask);
    } finally {
      process.umask(before);
    }
    assert.equal(lstatSync(path).mode & 0o777, 0o660);
    await new Promise((closed) => server.close(closed));
  }
});

const holders = new Set<Server>();
afterTests(() => {
  for (const holder of holders) holder.close();
});

/**
 * A listening server whose socket is handed over; as a service manager does, it takes no connection itself.
 * @param at an IPv4 address, or the path of a Unix socket
 */
async function hold(at: string): Promise<{ handle: unknown; port: number; close: () => unknown }> {
  const server = createServer({ pauseOnConnect: true });
  holders.add(server);
  await new Promise<void>((resolve) => {
    if (isIPv4(at)) server.listen(0, at, resolve);
    else server.listen(at, resolve);
  });
  const address = server.address();
  // biome-ignore lint/suspicious/noExplicitAny: the descriptor is no part of the interface.
  const handle = (server as any)._handle;
  const port = typeof address === "object" ? address!.port : 0;
  return { handle, port, close: () => server.close() };
}

/** Starts the program with sockets as descriptors 3 and 4. The shell makes `LISTEN_PID` that of the program. */
function startWith(handles: readonly unknown[], variables: Record<string, string>, args: readonly string[]) {
  const script = 'LISTEN_PID=$$ exec "$@"';
  const child: ChildProcess = spawn("sh", ["-c", script, "sh", ...COMMAND, ...args], {
    cwd: ROOT,
    env: environment(variables),
    stdio: ["ignore", "pipe", "pipe", ...(handles as never[])],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, stdout: textOf(child.stdout!), stderr: textOf(child.stderr!), ended };
}

describe("sockets that are handed over", () => {
  test("serve in place of --host, --port and --admin, and outlive the server", async (t) => {
    const { folder, args } = settings(t);
    const admin = join(folder, "admin.sock");
    const [api, operators] = [await hold("127.0.0.1"), await hold(admin)];
    // The holder must not take connections.
    for (const { handle } of [api, operators]) (handle as { unref(): void; onconnection: unknown }).unref();
    const variables = { LISTEN_FDS: "2", LISTEN_FDNAMES: "api:admin" };
    const program = startWith([api.handle, operators.handle], variables, [...args, "--port", "1"]);
    await until(() => program.stdout().includes("\n"), "the line");
    const origin = `http://127.0.0.1:${api.port}`;
    assert.match(program.stdout(), new RegExp(`^orrery listening on ${origin}/api/public/v1 generation=`));
    program.child.kill("SIGTERM");
    assert.equal(await program.ended, 0, program.stderr());
    assert.ok(lstatSync(admin).isSocket(), "the socket is its maker's");
  });

  test("that others can reach need the admin token", async (t) => {
    const { folder, args } = settings(t);
    const token = join(folder, "admin-token");
    writeFileSync(token, "an-operators-token\n");
    const operators = await hold("0.0.0.0");
    (operators.handle as { unref(): void }).unref();
    const variables = { LISTEN_FDS: "1", LISTEN_FDNAMES: "admin" };
    const open = startWith([operators.handle], variables, [...args, "--port", "0"]);
    assert.equal(await open.ended, 2, open.stderr());
    assert.match(
      open.stderr().trim().split("\n").at(-1)!,
      /^orrery: the inherited socket "admin": --admin-token-file is required, since others than this machine may reach 0\.0\.0\.0/,
    );
    const more = ["--port", "0", "--admin-token-file", token];
    const guarded = startWith([operators.handle], variables, [...args, ...more]);
    await until(() => guarded.stdout().includes("\n"), "the line");
    // Its own copy of the socket would take connections, too.
    operators.close();
    const at = `http://127.0.0.1:${operators.port}/status`;
    assert.equal((await fetch(at)).status, 401);
    assert.equal((await fetch(at, { headers: { Authorization: "Bearer an-operators-token" } })).status, 200);
    guarded.child.kill("SIGTERM");
    assert.equal(await guarded.ended, 0, guarded.stderr());
  });

  test("that are none: one line, exit 1", async (t) => {
    const { args } = settings(t);
    const cases: readonly (readonly [variables: Record<string, string>, says: RegExp])[] = [
      [{ LISTEN_FDS: "x" }, /^orrery: LISTEN_FDS: must be 1 or 2, is "x"$/],
      [{ LISTEN_FDS: "2" }, /^orrery: LISTEN_FDNAMES: one of two sockets must have the name "admin"/],
      [{ LISTEN_FDS: "1" }, /^orrery: cannot listen on fd:3: descriptor 3 is no/],
    ];
    for (const [variables, says] of cases) {
      const program = startWith(["ignore"], variables, args);
      assert.equal(await program.ended, 1, JSON.stringify(variables));
      assert.match(program.stderr().trim().split("\n").at(-1)!, says);
    }
  });

  test("are those of the process with the id, and its children learn nothing of them", () => {
    const environment = { LISTEN_FDS: "1", LISTEN_PID: "1", LISTEN_FDNAMES: "x" };
    assert.deepEqual(takeInherited(environment, 2), { api: undefined, admin: undefined });
    assert.deepEqual(environment, {});
    assert.deepEqual(takeInherited({ LISTEN_FDS: "1", LISTEN_PID: "2" }, 2), {
      api: "fd:3",
      admin: undefined,
    });
    const named = (LISTEN_FDS: string, LISTEN_FDNAMES: string) =>
      takeInherited({ LISTEN_FDS, LISTEN_FDNAMES, LISTEN_PID: "2" }, 2);
    assert.deepEqual(named("2", "api:admin"), { api: "fd:3", admin: "fd:4" });
    assert.deepEqual(named("2", "admin:orrery.socket"), { api: "fd:4", admin: "fd:3" });
    assert.deepEqual(named("1", "admin"), { api: undefined, admin: "fd:3" });
    assert.deepEqual(takeInherited({}, 2), { api: undefined, admin: undefined });
  });
});

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

for (const kind of ["TCP", "Unix"]) {
  test(`five restarts under load refuse and lose nothing, over a ${kind} socket`, async (t) => {
    const { folder, args } = settings(t);
    const where = kind === "TCP" ? String(await freePort()) : join(folder, "kept.sock");
    const way = kind === "TCP" ? {} : { socketPath: where };
    const url = `http://${kind === "TCP" ? `127.0.0.1:${where}` : "localhost"}${STATS}`;
    const command = [...COMMAND, ...args, "--rate-limit", "1000000"];
    const holder = spawn("python3", ["-c", HOLDER, where, ...command], { cwd: ROOT, env: environment() });
    t.after(() => holder.stdin.end());
    const said = textOf(holder.stdout);
    const starts = (): number => said().split("orrery listening on").length - 1;
    holder.stdin.write("start\n");
    await until(() => starts() === 1, "the first start");
    let isOver = false;
    const outcomes = new Map<string, number>();
    const load = async (agent: Agent): Promise<void> => {
      while (!isOver) {
        // A keep-alive connection that its server has just closed is the client's to open again.
        const outcome = await get(url, { token: TOKEN, agent, ...way }).then(
          ({ status }) => String(status),
          (error: NodeJS.ErrnoException) => error.code!,
        );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
      agent.destroy();
    };
    const agents = [new Agent(), new Agent(), new Agent(), new Agent(), keepAlive(1), keepAlive(1)];
    const loads = agents.map(load);
    for (let restart = 2; restart <= 6; restart++) {
      await sleep(300);
      holder.stdin.write("again\n");
      await until(() => starts() === restart, "a restart");
    }
    await sleep(300);
    isOver = true;
    await Promise.all(loads);
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
held = socket.socket()
other = socket.socket(); other.bind(("127.0.0.1", 0)); other.listen()
held.connect(other.getsockname())
os.dup2(held.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execvp(sys.argv[1], sys.argv[1:])
`;

test("a connected socket is refused in one line", async (t) => {
  const { args } = settings(t);
  const handing = ["python3", "-c", UNREADY, ...COMMAND] as const;
  const { ended, stdout, stderr } = start(args, {}, handing);
  assert.deepEqual([(await ended).status, stdout()], [1, ""], stderr());
  assert.match(stderr(), /orrery: cannot listen on fd:3: descriptor 3 is no listening socket \(EINVAL\)\n$/);
});

test("systemd-socket-activate hands its socket over", async (t) => {
  const { args } = settings(t);
  const at = `127.0.0.1:${await freePort()}`;
  const activator = start(args, {}, ["systemd-socket-activate", "-l", at, ...COMMAND]);
  await until(() => activator.stderr().includes("Listening on"), "systemd-socket-activate");
  // The first connection starts it, and waits.
  assert.equal((await get(`http://${at}${STATS}`, { token: TOKEN })).status, 200);
  await activator.stop();
});

test("a peer over a Unix socket is trusted as a proxy where `unix` or `loopback` is", () => {
  const peer = { remoteAddress: "unix" };
  const asked = { peer, headers: { get: () => "203.0.113.7" } } as never;
  for (const proxies of [["unix"], ["loopback"]]) assert.equal(readClients(proxies)(asked), "203.0.113.7");
  for (const proxies of [[], ["10.0.0.0/8"]]) assert.equal(readClients(proxies)(asked), "unix");
});
