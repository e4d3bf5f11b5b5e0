import Fastify from "fastify";
import { openOrrery } from "orrery";
import { options } from "../options.mjs";

const orrery = await openOrrery(options);
const app = Fastify();
app.all("/api/public/v1/*", (request, reply) => {
  reply.hijack();
  orrery.handle(request.raw, reply.raw);
});
app.get("/", () => "my own page\n");
app.addHook("onClose", () => orrery.close());
await app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
