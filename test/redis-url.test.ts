/** URLs of counter servers: what is read, what is refused, and what is shown. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { placeOf, RedisUrlError, readRedisUrl } from "../src/shared-limits/redis-url.ts";

describe("the URL of a counter server", () => {
  type Text = string | undefined;
  type Target = [place: string, username?: Text, password?: Text, database?: number];
  const TARGETS: Readonly<Record<string, Target>> = {
    "redis://127.0.0.1": ["127.0.0.1:6379"],
    "redis://:p%2Fw@cache:7000/3": ["cache:7000", undefined, "p/w", 3],
    "rediss://user:p%40w@[::1]:7000/": ["[::1]:7000", "user", "p@w"],
    "unix:/run/redis.sock": ["/run/redis.sock"],
    "unix:/run/a%20b@1.sock?db=2": ["/run/a b@1.sock", undefined, undefined, 2],
    "unix:///run/redis.sock": ["/run/redis.sock"],
    "unix://user:p%2Fw@/run/redis.sock": ["/run/redis.sock", "user", "p/w"],
    "unix://:pw@/run/redis.sock?db=1": ["/run/redis.sock", undefined, "pw", 1],
  };
  for (const [url, [place, username, password, database = 0]] of Object.entries(TARGETS)) {
    it(`is read: ${url}`, () => {
      const target = readRedisUrl(url);
      assert.equal(placeOf(target), place);
      const read = [target.username, target.password, target.database, target.tls];
      assert.deepEqual(read, [username, password, database, url.startsWith("rediss")]);
    });
  }

  const WRONG = [
    "redis: redis:// redis:/run 127.0.0.1:6379 http://127.0.0.1 valkey://h //h redis://h:0 redis://h:99999",
    "redis://h:x redis://[::1 redis://%zz@h redis://h/x redis://h/1/2 redis://h/-1 redis://h?db=1 redis://h#1",
    "unix: unix:/ unix:redis.sock unix:/a?x=1 unix:/a?db=x unix:/a?db=1&x=2 unix:/a#b unix://host/redis.sock",
    "unix:////redis.sock unix:/%zz",
  ];
  for (const url of ["", ...WRONG.join(" ").split(" ")]) {
    it(`is refused: ${JSON.stringify(url)}`, () => assert.throws(() => readRedisUrl(url), RedisUrlError));
  }

  // Characters that a user forgot to encode.
  for (const secret of ["hun/ter2", "hun?ter2", "hun#ter2", "hun@ter2", "/hunter2", "//hunter2", "%zz"]) {
    const urls = [`redis://u:${secret}@h`, `redis://:${secret}@h:1/2`, `unix://u:${secret}@/run/r.sock`];
    for (const url of urls) {
      it(`shows no part of a password: ${url}`, () => {
        let shown: string;
        try {
          shown = placeOf(readRedisUrl(url));
        } catch (error) {
          assert.ok(error instanceof RedisUrlError);
          shown = error.message;
        }
        assert.doesNotMatch(shown, /hun|ter2|12|34|zz/);
      });
    }
  }
});
