import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { openOrrery } from "orrery";
import { options } from "../options.mjs";

const orrery = await openOrrery(options);
const app = new Hono();
app.all("/api/public/v1/*", (context) => orrery.fetch(context.req.raw));
app.get("/", (context) => context.text("my own page\n"));
serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: "127.0.0.1" });
