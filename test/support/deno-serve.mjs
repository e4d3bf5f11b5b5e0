/** A server of Deno's own that answers by the library; prints its port. */

import { openOrrery } from "../../dist/mod.js";

const keys = [{ id: "me", kind: "cli", token: "svcx_secret" }];
const orrery = await openOrrery({ snapshot: "data/sample", keys });
Deno.serve({ port: 0, onListen: ({ port }) => console.log(port) }, (request) => orrery.fetch(request));
