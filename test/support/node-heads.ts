/** Heads read by the parser of node:http, through its public interface. */

import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";

/** One head as node:http hands it to its listener. */
export interface NodeHead {
  readonly method: string;
  readonly target: string;
  /** `1.0` or `1.1`, mostly. */
  readonly version: string;
  /** Names and values in turn. */
  readonly fields: readonly string[];
}

/** What node:http makes of some bytes. */
export interface NodeReading {
  readonly heads: readonly NodeHead[];
  /** Code of the error that ended it. */
  readonly error: string | undefined;
}

const heads: NodeHead[] = [];
let error: string | undefined;

const server = createServer({
  insecureHTTPParser: false,
  maxHeaderSize: 1 << 24,
  requireHostHeader: false,
  keepAliveTimeout: 0,
});
server.maxHeadersCount = 0;
for (const event of ["request", "checkContinue", "checkExpectation", "connect"]) {
  server.on(event, ({ method, url, httpVersion, rawHeaders }: IncomingMessage) => {
    heads.push({ method: method!, target: url!, version: httpVersion, fields: rawHeaders });
  });
}
server.on("clientError", (cause: NodeJS.ErrnoException) => {
  error ??= cause.code ?? cause.message;
});

/** Reads one-byte text at once: a connection that is no socket is read as soon as it says so. */
export function readByNode(text: string): NodeReading {
  heads.length = 0;
  error = undefined;
  const connection = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  connection.on("error", () => {});
  server.emit("connection", connection);
  connection.emit("data", Buffer.from(text, "latin1"));
  connection.destroy();
  return { heads: [...heads], error };
}
