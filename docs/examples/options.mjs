/** The options of `openOrrery` that all examples share. */
export const options = {
  snapshot: process.env.SNAPSHOT ?? "node_modules/orrery/data/sample",
  docs: false,
  keys: [{ id: "me", kind: "cli", token: "svcx_secret" }],
};
