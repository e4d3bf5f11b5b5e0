/** Servers in the place of replicas, whose replies and failures a test decides. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** How it answers. */
export type Manner = "answers" | "hangs" | "is busy" | "says much";

/** Of a reply that says much, in bytes. */
const MUCH = 300_000;

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

/** A stand-in for a replica, with a port for health checks. Each reply says by `x-replica` who gave it. */
export class StandIn {
  readonly name: string;
  port = 0;
  adminPort = 0;
  manner: Manner = "answers";
  /** Before each reply, in milliseconds. */
  delayMs = 0;
  /** What `/readyz` says. */
  isReady = true;
  /** Requests and connections so far, and requests whose connection ended before they were answered. */
  requests = 0;
  connections = 0;
  aborted = 0;
  readonly #sockets = new Set<Socket>();
  #api: Server | undefined;
  #admin: Server | undefined;

  constructor(name: string) {
    this.name = name;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests++;
    request.resume();
    response.once("close", () => {
      if (!response.writableFinished) this.aborted++;
    });
    if (this.manner === "hangs") return;
    response.setHeader("x-replica", this.name);
    response.setHeader("content-type", "application/json");
    if (this.manner === "is busy") {
      response.writeHead(503, { "retry-after": "1" }).end('{"error":"Server is busy"}');
      return;
    }
    const body = this.manner === "says much" ? JSON.stringify("x".repeat(MUCH)) : '{"data":{}}';
    setTimeout(() => response.end(body), this.delayMs);
  }

  /** Begins to listen, on the ports that it had. */
  async open(): Promise<void> {
    this.#api = createServer({ keepAliveTimeout: 65_000 }, (request, response) =>
      this.#answer(request, response),
    );
    this.#api.on("connection", (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#admin = createServer((_request, response) => {
      response.writeHead(this.isReady ? 200 : 503).end();
    });
    this.port = await listen(this.#api, this.port);
    this.adminPort = await listen(this.#admin, this.adminPort);
  }

  /** Is gone, with all of its connections. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#admin?.closeAllConnections();
    await Promise.all(
      [this.#api, this.#admin].map(
        (server) => new Promise((resolve) => server?.close(resolve) ?? resolve(0)),
      ),
    );
  }
}
