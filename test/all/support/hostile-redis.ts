/** A server that speaks enough of the counter servers' protocol to accept connections, and then answers as a test wants. */

import { createServer, type Socket } from "node:net";
import { listen } from "../../support/ports.ts";

/** The answer to a command; undefined sends none. */
export type Answer = (command: readonly string[], socket: Socket) => string | Buffer | undefined;

export type HostileRedis = Awaited<ReturnType<typeof startHostile>>;

/** The first command in a text, and its length; undefined while it is incomplete. */
function readCommand(text: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text);
  if (head === null) return undefined;
  const words: string[] = [];
  let at = head[0].length;
  for (let word = 0; word < Number(head[1]); word++) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at, at + 20));
    if (size === null) return undefined;
    at += size[0].length;
    const end = at + Number(size[1]);
    if (text.length < end + 2) return undefined;
    words.push(text.slice(at, end));
    at = end + 2;
  }
  return { words, length: at };
}

export const HELLO = "%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n";

/** Counts as a good server does that has counted nothing: answers a question with the count that it is told. */
function goodCount([name, , , , , , known]: readonly string[]): string {
  return name === "GET" ? "_\r\n" : `:${known}\r\n`;
}

const GOOD: Answer = (command) => (command[0] === "HELLO" ? HELLO : goodCount(command));

export async function startHostile() {
  let answer = GOOD;
  let greet: ((socket: Socket) => void) | undefined;
  let connections = 0;
  const sockets = new Set<Socket>();
  // As on real servers: without it a reply would wait for the acknowledgement of the one before, which takes 40 ms.
  const server = createServer({ noDelay: true }, (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    greet?.(socket);
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
      for (let found = readCommand(text); found !== undefined; found = readCommand(text)) {
        text = text.slice(found.length);
        const reply = answer(found.words, socket);
        if (reply !== undefined && socket.writable) socket.write(reply);
      }
    });
  });
  return {
    port: await listen(server),
    connections: () => connections,
    /** Changes the answers from now on; undefined: as a good server. */
    turn(next: Answer | undefined, onConnect?: (socket: Socket) => void) {
      answer = next ?? GOOD;
      greet = onConnect;
    },
    /** Closes all connections. */
    disconnect() {
      for (const socket of sockets) socket.destroy();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
