/** A server of Deno's own that answers by the library; prints its port. With `reads` it reads the signal of each request, too. */

import { openOrrery } from "../../../dist/mod.js";

const reads = Deno.args.includes("reads");
const keys = [{ id: "me", kind: "cli", token: "svcx_secret" }];
const orrery = await openOrrery({ snapshot: "data/sample", keys });
Deno.serve({ port: 0, onListen: ({ port }) => console.log(port) }, (request) => {
  if (reads) void request.signal.aborted;
  return orrery.fetch(request);
});
