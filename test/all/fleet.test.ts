/**
 * Three replicas behind the load balancers of `deploy/`, under load: one is killed, stopped, frozen, given a bad snapshot,
 * given a new one; and the server that counts for all is killed. Prints a table of what was done and what clients saw; `ORRERY_WRITE_FLEET=FILE` keeps it.
 */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Balancer, startHaproxy, startNginxSite } from "../support/balancers.ts";
import { Clients, Crawlers, Replica, type Seen, writeNumbered } from "../support/fleet.ts";
import { need } from "../support/need.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { get, keepAlive, killAll, until } from "../support/process.ts";
import { endAll, PROGRAM, type Redis, startRedis } from "../support/redis.ts";

const tokens = Array.from({ length: 12 }, (_, n) => `svc_sk_fleet-client-${String(n).padStart(12, "0")}`);
const crawlers = tokens.map((token) => token.replace("client", "crawler")).slice(0, 3);

/** A key that asks for more than its limit. */
const GREEDY = "svc_sk_fleet-greedy-000000000000";
const LIMIT = 300;

const rows: string[] = [];
after(() => {
  const head =
    "| Balancer | What was done | Requests | Not answered 200 | Slowest (ms) | Walks begun anew |\n|---|---|--:|--:|--:|--:|";
  const table = [head, ...rows].join("\n");
  console.log(table);
  const file = process.env.ORRERY_WRITE_FLEET;
  if (file !== undefined) writeFileSync(file, `${table}\n`);
});

for (const [name, program, startBalancer] of [
  ["nginx", "nginx", startNginxSite],
  ["HAProxy", "haproxy", startHaproxy],
] as const) {
  describe(`three replicas behind ${name}`, { skip: need(program, "openssl", PROGRAM) }, () => {
    const folder = mkdtempSync(join(tmpdir(), "orrery-fleet-"));
    let replicas: Replica[];
    let balancer: Balancer;
    let counting: Redis;
    let clients: Clients;
    let walks: Crawlers;
    let numbered = 0;
    const nextSnapshot = (): string => {
      numbered++;
      return writeNumbered(join(folder, `snapshot-${numbered}`), numbered);
    };

    before(async () => {
      const keys = join(folder, "keys.json");
      writeKeys(
        keys,
        ...tokens.concat(crawlers).map((token, n) => keyRecord(token, { id: `key_${n}`, limit: 10_000_000 })),
        keyRecord(GREEDY, { id: "greedy", limit: LIMIT }),
      );
      counting = await startRedis();
      const snapshot = nextSnapshot();
      const args = ["--keys", keys, "--watch", "0.2", "--shared-limits", counting.url, "--replicas", "3"];
      replicas = await Promise.all(["a", "b", "c"].map((id) => Replica.make(id, folder, snapshot, args)));
      mkdirSync(join(folder, "balancer"));
      balancer = await startBalancer(join(folder, "balancer"), replicas);
      clients = new Clients(balancer.port, tokens);
      walks = new Crawlers(balancer.port, crawlers);
      await clients.some();
      clients.take();
    });
    after(async () => {
      await walks?.end();
      await clients?.end();
      await balancer?.end();
      await killAll();
      await endAll();
      rmSync(folder, { recursive: true });
    });

    /** Does something while clients and crawlers are at work, and notes what they saw until all is as before. */
    async function during(what: string, act: () => Promise<void>): Promise<Seen> {
      const restarts = walks.restarts;
      await act();
      await Promise.all(replicas.map((replica) => replica.untilReady()));
      await new Promise((resolve) => setTimeout(resolve, balancer.noticesMs));
      await walks.another();
      await clients.some();
      const seen = clients.take();
      const failed = seen.requests - (seen.statuses.get(200) ?? 0);
      rows.push(
        `| ${name} | ${what} | ${seen.requests} | ${failed} | ${Math.round(seen.slowestMs)} | ${walks.restarts - restarts} |`,
      );
      return seen;
    }

    /** Nobody noticed but by waiting. */
    function unnoticed({ statuses, broken }: Seen): void {
      assert.deepEqual({ statuses: [...statuses.keys()], broken }, { statuses: [200], broken: [] });
    }

    it("a key that asks for more than its limit at all of them", async () => {
      const agent = keepAlive(12);
      // Not across the end of a window, which gives it another limit.
      await until(() => Date.now() % 3_600_000 < 3_570_000, "the next window");
      const replies = await Promise.all(
        Array.from({ length: 2 * LIMIT }, (_, n) =>
          get(`${replicas[n % 3]!.server.url}/stats`, { token: GREEDY, agent }),
        ),
      );
      agent.destroy();
      const passed = replies.filter(({ status }) => status === 200).length;
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200, 429]));
      assert.ok(passed <= LIMIT && passed >= 0.97 * LIMIT, `${passed} of ${LIMIT} passed`);
    });

    it("kill -9 of each", async () => {
      for (const replica of replicas) {
        const seen = await during(`kill -9 of ${replica.name}`, async () => {
          replica.server.child.kill("SIGKILL");
          await replica.server.ended;
          await clients.some();
          await replica.start();
        });
        // A reply that is on its way when its server is killed may break; nothing else may.
        assert.ok(seen.broken.length <= tokens.length, seen.broken.join("\n"));
        unnoticed({ ...seen, broken: [] });
      }
    });

    it("a rolling restart by SIGTERM", async () => {
      for (const replica of replicas) {
        const seen = await during(`SIGTERM of ${replica.name}`, async () => {
          await replica.server.stop();
          await clients.some();
          await replica.start();
        });
        unnoticed(seen);
      }
    });

    it("one that hangs", async () => {
      const [replica] = replicas;
      const seen = await during("SIGSTOP of a, SIGCONT", async () => {
        replica!.server.child.kill("SIGSTOP");
        await clients.some();
        replica!.server.child.kill("SIGCONT");
      });
      unnoticed(seen);
      assert.ok(seen.slowestMs < 30_000, `a request took ${seen.slowestMs} ms`);
    });

    it("a bad snapshot", async () => {
      const bad = writeNumbered(join(folder, "bad"), 1);
      writeFileSync(join(bad, "worlds.ndjson"), "{");
      const [replica] = replicas;
      const { generation } = await replica!.readiness();
      const seen = await during("a bad snapshot for a", async () => {
        replica!.publish(bad);
        await replica!.server.logged("snapshot-refused");
      });
      unnoticed(seen);
      assert.equal((await replica!.readiness()).generation, generation, "it goes on with what it has");
    });

    it("the server that counts is killed, and comes back", async () => {
      const seen = await during("kill -9 of the server that counts, another", async () => {
        counting.signal("SIGKILL");
        await Promise.all(replicas.map(({ server }) => server.logged("limits-away")));
        await clients.some();
        await counting.restart();
        await Promise.all(replicas.map(({ server }) => server.logged("limits-back")));
      });
      unnoticed(seen);
    });

    it("a new snapshot, for one after another", async () => {
      const next = nextSnapshot();
      const seen = await during("a new snapshot for a, b and c, one after another", async () => {
        for (const replica of replicas) {
          const { generation } = await replica.readiness();
          replica.publish(next);
          await until(
            async () => (await replica.readiness()).generation !== generation,
            `the new snapshot at ${replica.name}`,
          );
          await clients.some();
        }
      });
      unnoticed(seen);
    });
  });
}
