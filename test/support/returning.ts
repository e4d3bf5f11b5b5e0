/** Clients that come back at once when they are told to leave. */

import { connect } from "node:net";

/** What became of their requests. */
export interface Outcome {
  readonly answered: number;
  /** Sent whole over a connection that stood, and not answered. */
  readonly lost: number;
  /** Why, of each that was lost. */
  readonly causes: readonly string[];
  /** Clients that found nobody who listens, and went. */
  readonly refused: number;
}

/** Of a whole response at the start of a text: its length, or undefined while more must come. */
function lengthOf(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const length = head + 4 + Number(/content-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  return text.length >= length ? length : undefined;
}

/** Starts clients, each with one connection at a time and one request at a time on it, until nobody listens. */
export function comeBack(port: number, token: string, clients: number): { stop: () => Promise<Outcome> } {
  const request = Buffer.from(
    `GET /api/public/v1/worlds HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  let over = false;
  let answered = 0;
  const causes: string[] = [];

  /** One connection; resolves with false when nobody listens any more. */
  function visit(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port });
      let text = "";
      /** A request was sent whole, and nothing of its answer is here. */
      let asked = false;
      let refused = false;
      let left = false;
      const ask = (): void => {
        asked = true;
        socket.write(request);
      };
      socket.on("connect", ask);
      socket.on("data", (bytes) => {
        text += bytes.toString("latin1");
        const length = lengthOf(text);
        if (length === undefined) return;
        answered++;
        asked = false;
        left = /\r\nconnection: close\r\n/i.test(text.slice(0, length));
        text = text.slice(length);
        if (left || over) socket.end();
        else ask();
      });
      socket.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED") refused = true;
        else if (asked) causes.push(`${error.code} ${error.syscall}`);
        asked = false;
      });
      socket.on("close", () => {
        if (asked && !left) causes.push("closed");
        resolve(!refused);
      });
    });
  }

  let refusals = 0;
  const all = Promise.all(
    Array.from({ length: clients }, async () => {
      while (await visit()) if (over) return;
      refusals++;
    }),
  );
  return {
    async stop() {
      over = true;
      await all;
      return { answered, lost: causes.length, causes, refused: refusals };
    },
  };
}
