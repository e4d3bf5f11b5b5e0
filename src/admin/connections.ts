/**
 * The connections of the admin listener: every new one is taken, and none takes a turn of the event loop for itself.
 *
 * An orchestrator that gets no answer from a probe restarts the server. So when there are many connections an older one
 * ends in favour of the new one, whatever they do.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that one turn of the event loop takes. */
const MAX_PIPELINED = 16;
/** Younger connections, in milliseconds, may have sent a request that was not read yet. */
const YOUNG_MS = 250;

/** State of a connection. */
interface Connection {
  /** When it was taken, by the monotonic clock. */
  readonly since: number;
  /** Requests so far. */
  asked: number;
  /** Requests that are not answered. */
  open: number;
  /** The turn of the event loop in which it last sent a request, and how many. */
  turn: number;
  inTurn: number;
}

/** Requests of all connections that one turn answers. */
const MAX_ANSWERED = 4;

/** Bounds the connections, and shares the turns of the event loop among them. */
export class Connections {
  /** Oldest first. */
  readonly #all = new Map<Socket, Connection>();
  readonly #most: number;
  #turn = 0;
  #turnHasBegun = false;
  #answered = 0;
  readonly #waiting: (() => void)[] = [];

  /** @param most connections; from half of them on a new one ends an older one, unless all are young */
  constructor(most: number) {
    this.#most = most;
  }

  add(socket: Socket): void {
    if (this.#all.size >= this.#most / 2) this.#endOne();
    this.#all.set(socket, { since: performance.now(), asked: 0, open: 0, turn: 0, inTurn: 0 });
    socket.once("close", () => this.#all.delete(socket));
  }

  /**
   * Ends the oldest that waits for no answer, else the one that asked most. Young ones are spared, unless all places are
   * taken: then one that asked goes first, since the request of one that did not may be on its way.
   */
  #endOne(): void {
    const isFull = this.#all.size >= this.#most;
    const grown = performance.now() - YOUNG_MS;
    let [victim] = isFull ? this.#all.keys() : [];
    let most = 0;
    for (const [socket, { since, asked, open }] of this.#all) {
      const isYoung = since > grown;
      if (isYoung && !isFull) break;
      if (!isYoung && open === 0) {
        victim = socket;
        break;
      }
      if (asked <= most) continue;
      victim = socket;
      most = asked;
    }
    if (victim === undefined) return;
    this.#all.delete(victim);
    victim.destroy();
  }

  /** Whether a request is the only one of its connection that is not answered. */
  isAlone(socket: Socket): boolean {
    return this.#all.get(socket)?.open === 1;
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
    connection.asked++;
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
