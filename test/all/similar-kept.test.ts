/** Similar search over reloads that change no name: it goes on, and is not indexed again. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeRows, NAMES, namesIn, open, pageOf, removeRows, writeRows } from "../support/similar-served.ts";

let folder = "";
before(async () => {
  folder = await makeRows();
});
after(removeRows);

function rename(generation: string): void {
  const file = join(folder, "manifest.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), generation }));
}

for (const threads of [false, true]) {
  test(`similar search goes on ${threads ? "in its thread" : "here"} while names stay, and begins anew when they change`, async (t) => {
    await writeRows("one", NAMES);
    const { orrery, ask, seen, observed } = await open(t, { threads });
    const ready = () => seen.flatMap((one) => (one.kind === "similar-ready" ? [one.generation] : []));
    const target = "/users/search?q=rabit&match=similar";
    // Names may still be being indexed.
    rename("two");
    await orrery.reload();
    await observed("similar-ready");
    const first = await ask(target);
    assert.equal(first.headers.etag, '"two"');

    rename("three");
    await orrery.reload();
    const second = await ask(target);
    assert.equal(second.headers.etag, '"three"');
    assert.equal(second.body, first.body);
    assert.equal(pageOf(second).match, "similar");
    assert.equal(ready().length, 1);

    await writeRows("four", ["Rabot"]);
    await orrery.reload();
    await observed("similar-ready", 2);
    assert.equal(ready()[1], "four");
    assert.deepEqual(namesIn(pageOf(await ask(target))), ["Rabot"]);
  });
}
