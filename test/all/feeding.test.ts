/** From a commit to two replicas: PostgreSQL, `export --every`, nginx and servers that follow it by URL. */

import assert from "node:assert/strict";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { fillSql, needPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import { get, killAll, serve, start, until } from "../support/process.ts";
import { startNginx } from "../support/proxies.ts";

describe("a row that is committed", { skip: needPostgres() || need("nginx") }, () => {
  let server: Postgres;
  before(async () => {
    server = await startPostgres();
    await server.makeDatabase("orrery");
    await server.run(fillSql(200), "orrery");
  });
  after(async () => {
    await killAll();
    await server.end();
  });

  for (const flags of [[], ["--gzip"], ["--build"]]) {
    it(`is served by two replicas: export ${flags.join(" ")}`, async (t) => {
      // Read by nginx's own user.
      const folder = realpathSync(temporaryFolder(t));
      mkdirSync(join(folder, "web"));
      const out = join(folder, "web/current");
      const from = ["export", "--postgres", server.url("orrery"), "--out", out];
      const exporting = start([...from, "--every", "0.3", ...flags]);
      await until(() => {
        assert.equal(exporting.child.exitCode, null, exporting.stderr());
        return exporting.stderr().includes(" published generation ");
      }, "the first export");
      const { url } = await startNginx(t, folder);
      const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN, { limit: 1_000_000 }));
      const replicas = await Promise.all(
        ["a", "b"].map((name) => serve(url, keys, ["--cache", join(folder, name), "--watch", "0.2"])),
      );
      for (let round = 0; round < 3; round++) {
        const client = await server.connect("orrery");
        const name = `new ${flags.join()} ${round}`;
        const { rows } = await client.query(
          "INSERT INTO users VALUES (gen_random_uuid(), $1, NULL, now()) RETURNING id",
          [name],
        );
        await client.end();
        const { id } = rows[0] as { id: string };
        for (const replica of replicas) {
          let status = 0;
          const served = await until(
            async () => {
              const reply = await get(`${replica.url}/users/${id}`, { token: TOKEN });
              status = reply.status;
              return status === 200 ? reply.text : undefined;
            },
            () =>
              `user ${id} at ${replica.url}, which answers ${status}; the export said:\n${exporting.stderr()}\nand the replica:\n${replica.stderr()}`,
          );
          assert.equal((JSON.parse(served) as { data: { displayName: string } }).data.displayName, name);
        }
      }
      exporting.child.kill("SIGTERM");
      assert.deepEqual(await exporting.ended, { status: 0, signal: null });
      for (const replica of replicas) await replica.stop();
    });
  }
});
