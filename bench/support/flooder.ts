/**
 * A client that sends very many requests at once, pipelined over some connections, and hangs up on demand.
 *
 * Messages in: a {@link Flood} to begin one, "count", "hang up".
 */

import { connect, type Socket } from "node:net";

/** Requests to send. With `again` all are sent once more whenever all have been answered. */
export interface Flood {
  readonly url: string;
  readonly tokens: readonly string[];
  readonly connections: number;
  /** Targets below the URL. */
  readonly targets: readonly string[];
  readonly again: boolean;
}

/** Numbers of answers by status, and of lost connections. */
export type Counts = Record<string, number>;

let sockets: Socket[] = [];
let counts: Counts = {};

function countOne(what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

/** Counts whole responses as they arrive. */
function readResponses(socket: Socket, onResponse: () => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (;;) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = rest.toString("latin1", 0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (rest.length < end + 4 + length) return;
      rest = rest.subarray(end + 4 + length);
      countOne(head.slice(9, 12));
      onResponse();
    }
  });
}

async function begin({ url, tokens, connections, targets, again }: Flood): Promise<void> {
  const { hostname, port, host, pathname } = new URL(url);
  const shares: string[] = Array.from({ length: connections }, () => "");
  for (const [at, target] of targets.entries()) {
    const token = tokens[at % tokens.length];
    shares[at % connections] +=
      `GET ${pathname}${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  }
  sockets = await Promise.all(
    shares.map(
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(Number(port), hostname, () => resolve(socket));
          socket.once("error", reject);
        }),
    ),
  );
  let left = targets.length;
  const send = (): void => {
    left = targets.length;
    for (const [at, socket] of sockets.entries()) socket.write(shares[at]!);
  };
  for (const socket of sockets) {
    socket.on("error", () => countOne("lost"));
    readResponses(socket, () => {
      if (--left === 0 && again) send();
    });
  }
  send();
}

process.on("message", (message: Flood | "count" | "hang up") => {
  if (message === "count") process.send!({ counts });
  else if (message === "hang up") {
    for (const socket of sockets) socket.destroy();
    sockets = [];
    process.send!({ hungUp: true });
  } else {
    counts = {};
    void begin(message).then(() => process.send!({ flooding: true }));
  }
});
