import express from "express";
import { openOrrery } from "orrery";
import { options } from "../options.mjs";

const orrery = await openOrrery(options);
const app = express();
// Without a path in front of it: a host cuts that off.
app.use(orrery.handle);
// A login of your own decides which key the request has.
app.get("/mine", (request, response) => {
  request.url = "/api/public/v1/stats";
  orrery.as("me").handle(request, response);
});
app.get("/{*rest}", (_request, response) => response.send("my own page\n"));
app.listen(Number(process.env.PORT), "127.0.0.1");
