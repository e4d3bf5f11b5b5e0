/**
 * Peers that try to occupy a server completely. They run in a process of their own, with a low priority, so that a test
 * can measure how long other clients wait.
 *
 * Arguments: the port, the number of connections, their conduct, and a request. `silent` ones send nothing, `endless` ones
 * send the request without a pause, `patient` ones send it eight times and again after the answers; both read every
 * answer. A connection that ends is replaced at once. Prints one line when all are connected.
 */

import { connect } from "node:net";
import { setPriority } from "node:os";

const [port, count, conduct, request] = process.argv.slice(2);
setPriority(10);
let made = 0;
const BATCH = 8;
const batch = Buffer.from(request.repeat(conduct === "patient" ? BATCH : 200));

function begin() {
  const socket = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
  let answers = 0;
  socket.on("connect", () => {
    if (++made === Number(count)) console.log("made");
    if (conduct === "patient") socket.write(batch);
    if (conduct !== "endless") return;
    const send = () => {
      while (!socket.destroyed && socket.write(batch));
    };
    socket.on("drain", send);
    send();
  });
  socket.on("data", (chunk) => {
    answers += chunk.latin1Slice().split("HTTP/1.1 ").length - 1;
    if (conduct !== "patient" || answers < BATCH) return;
    answers -= BATCH;
    socket.write(batch);
  });
  socket.on("error", () => {});
  socket.on("close", () => setImmediate(begin));
}

for (let at = 0; at < Number(count); at++) begin();
