/** Rows of another server: what no snapshot could hold is refused with the reply that brought it, before more is asked for. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RESOURCES } from "../src/model/schema.ts";
import { readWorlds } from "../src/sources/mirror/rows.ts";

const ID = "00000000-0000-4000-8000-00000000000A";
const ROW = {
  ...{ id: ID, name: "a", description: null, ownerId: ID, isPublic: true },
  ...{ createdAt: "2026-01-01T00:00:00.000Z", updatedAt: "2026-01-01T00:00:00.000Z" },
};

function read(row: object) {
  return readWorlds("/worlds?limit=50", { data: [row], pagination: { total: 1, limit: 50, offset: 0 } });
}

describe("rows of another server", () => {
  it("are taken with their ids in small letters", () => {
    const [row] = read(ROW).rows;
    assert.deepEqual(row, {
      ...row,
      ...{ ...ROW, description: "", id: ID.toLowerCase(), ownerId: ID.toLowerCase() },
    });
    assert.deepEqual(
      Object.keys(row!),
      RESOURCES.world.fields.map(({ name }) => name),
    );
  });

  for (const [field, value] of [
    ...["id", "ownerId"].flatMap((name) =>
      ["", "..", "../../etc", "__proto__", "a\u001b[31m\nb"].map((text) => [name, text]),
    ),
    ...["createdAt", "updatedAt"].map((name) => [name, "2026-02-31T00:00:00Z"]),
  ] as const) {
    it(`are refused: ${field} ${JSON.stringify(value)}`, () => {
      assert.throws(
        () => read({ ...ROW, [field!]: value }),
        (error: Error) => {
          assert.match(error.message, new RegExp(`^/worlds\\?limit=50: .*: ${field} must be a (UUID|time)$`));
          return true;
        },
      );
    });
  }
});
