import { parentPort } from "node:worker_threads";
import { openOrrery } from "orrery";
import { options } from "../options.mjs";

const orrery = await openOrrery(options);
parentPort.on("message", async (target) => {
  if (target !== "close") parentPort.postMessage(await orrery.as("me").ask({ target }));
  else {
    orrery.close();
    parentPort.close();
  }
});
