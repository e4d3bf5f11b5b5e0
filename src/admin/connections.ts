/** The connections of the admin listener: few, and none that takes a turn of the event loop for itself. */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Most connections. */
const MAX_CONNECTIONS = 32;
/** Requests of one connection that one turn of the event loop takes. */
const MAX_PIPELINED = 16;

/** What is known of a connection. */
interface Connection {
  /** Requests that are not answered. */
  open: number;
  /** The turn of the event loop in which it last sent a request, and how many. */
  turn: number;
  inTurn: number;
}

/** Requests of all connections that one turn answers. */
const MAX_ANSWERED = 4;

/** Keeps connections few. */
export class Connections {
  /** Oldest first. */
  readonly #all = new Map<Socket, Connection>();
  #turn = 0;
  #turnHasBegun = false;
  #answered = 0;
  readonly #waiting: (() => void)[] = [];

  add(socket: Socket): void {
    if (this.#all.size >= MAX_CONNECTIONS) {
      const [idle] = [...this.#all].find(([, { open }]) => open === 0) ?? [];
      (idle ?? socket).destroy();
      if (idle === undefined) return;
      this.#all.delete(idle);
    }
    this.#all.set(socket, { open: 0, turn: 0, inTurn: 0 });
    socket.once("close", () => this.#all.delete(socket));
  }

  /** A request has come. @returns whether it is one too many in this turn */
  begin(socket: Socket, response: ServerResponse): boolean {
    const connection = this.#all.get(socket);
    if (connection === undefined) return true;
    this.#beginTurn();
    if (connection.turn !== this.#turn) {
      connection.turn = this.#turn;
      connection.inTurn = 0;
    }
    connection.open++;
    response.once("close", () => connection.open--);
    return ++connection.inTurn > MAX_PIPELINED || connection.open > MAX_PIPELINED;
  }

  /** Resolves in a turn that has room for one more answer: requests of the API are in every turn. */
  async room(): Promise<void> {
    this.#beginTurn();
    if (this.#answered < MAX_ANSWERED && this.#waiting.length === 0) this.#answered++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #beginTurn(): void {
    if (this.#turnHasBegun) return;
    this.#turnHasBegun = true;
    this.#turn++;
    setImmediate(() => {
      this.#turnHasBegun = false;
      const next = this.#waiting.splice(0, MAX_ANSWERED);
      this.#answered = next.length;
      for (const resolve of next) resolve();
      if (next.length > 0) this.#beginTurn();
    });
  }

  get isIdle(): boolean {
    return [...this.#all.values()].every(({ open }) => open === 0);
  }
}
