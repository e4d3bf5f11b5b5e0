import { createServer } from "node:http";
import { openOrrery } from "orrery";
import { options } from "../options.mjs";

const orrery = await openOrrery(options);
// Orrery answers a request without Host itself.
const server = createServer({ requireHostHeader: false }, (request, response) => {
  orrery.handle(request, response, () => response.end("my own page\n"));
});
server.listen(Number(process.env.PORT), "127.0.0.1");
