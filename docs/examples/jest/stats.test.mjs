// NODE_OPTIONS=--experimental-vm-modules npx jest
import { afterAll, expect, test } from "@jest/globals";
import { openOrrery } from "orrery";
import { options } from "../options.mjs";

const orrery = await openOrrery(options);
afterAll(() => orrery.close());

test("the sample has users", async () => {
  const { data } = await orrery.client().stats();
  expect(data.totalUsers).toBeGreaterThan(0);
});
