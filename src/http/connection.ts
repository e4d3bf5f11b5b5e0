/**
 * One HTTP/1.1 connection: reads requests, sends their answers in order, and ends so that the last answer arrives.
 *
 *      new ──bytes──▶ head ◀──part of a head── idle
 *       │              │                        ▲
 *       │              │ a whole request        │ all answered
 *       │              ▼                        │
 *       │             busy ─────────────────────┘
 *       │              │ the last answer is decided: the request or its answer
 *       │              │ ends the connection, a refusal, a stop, the peer's FIN
 *       │              ▼
 *       │           closing     bytes that still arrive are dropped
 *       │              │ everything was written; the FIN is sent
 *       ▼              ▼
 *       └─────────▶ lingering   the peer has a moment to read and to close
 *                      │
 *                      ▼
 *                     gone      from any state, when the socket is closed
 *
 * Parsing pauses between two requests while the connection is full (unsent bytes, unfinished answers) or has had its
 * share of the turn; reading pauses, too. Unparsed bytes are at most one read and a part of one head.
 */

import type { Socket } from "node:net";
import type { FaultName } from "../model/fault.ts";
import { type Ask, LOCAL_PEER, type Reply } from "../model/message.ts";
import { type ConnectionHost, HEAD_TIMEOUT, MAX_REQUESTS } from "./connection-host.ts";
import { faultOf, type Head, staysOpen } from "./head.ts";
import { watchPeer } from "./peer.ts";
import { RequestReader } from "./request-reader.ts";
import { ReplyWriter } from "./write.ts";

export type ConnectionState = "new" | "head" | "busy" | "idle" | "closing" | "lingering" | "gone";

interface Answer {
  readonly method: string;
  /** From {@link ConnectionApp.begin}; negative for input that is no request. */
  readonly began: number;
  readonly closes: boolean;
  reply: Reply | undefined;
}

const MAX_ANSWERS = 32;

const MAX_UNSENT_BYTES = 65_536;

/** Maximum number of bytes read while reading pauses: some runtimes still deliver some. */
const MAX_UNREAD_BYTES = 1_048_576;

/** How long a peer may take to read its last answer and to close, in seconds. */
const LINGER_TIMEOUT = 2;

export class Connection {
  readonly socket: Socket;
  /** By the monotonic clock, in milliseconds. */
  readonly acceptedAt = performance.now();
  readonly #host: ConnectionHost;
  readonly #writer: ReplyWriter;
  #state: ConnectionState = "new";
  #remoteAddress: string | undefined;
  /** Start of its state, or time when its peer last took some bytes, by the server's clock. */
  #since: number;
  readonly #reader: RequestReader;
  #linger = LINGER_TIMEOUT;
  #minor: 0 | 1 = 1;
  requests = 0;
  #answers: Answer[] = [];
  /** Reason why parsing waits: for its turn, or for room. */
  #wait: "turn" | "room" | undefined;
  #hasEnded = false;
  /** Whether a stop still reads arrived bytes before it treats an answer as the last. */
  #isSettling = false;
  #unsent = 0;
  #isGone: (() => boolean) | undefined;

  /** @param onGone called once, when the socket is closed, with the approximate number of bytes read or made in vain */
  constructor(socket: Socket, host: ConnectionHost, onGone: (discarded: number) => void) {
    this.socket = socket;
    this.#host = host;
    this.#since = host.clock;
    this.#reader = new RequestReader(host.limits.maxHeadBytes);
    this.#writer = new ReplyWriter(socket, host.keepAlive, host.turns, () => this.#onWritten());
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("end", () => this.#end());
    socket.on("drain", () => {
      // The next sweep may see as many unsent bytes of later answers: that is progress.
      this.#unsent = 0;
      this.#onWritten();
      this.#writer.proceedLater();
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => onGone(this.#close()));
  }

  /** The address of its peer, cached: a socket is slow to return it, and forgets it at its end. */
  get remoteAddress(): string | undefined {
    this.#remoteAddress ??= this.#host.isLocal ? LOCAL_PEER : this.socket.remoteAddress;
    return this.#remoteAddress;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Whether all requests are answered, and no byte of another has arrived. */
  get isIdle(): boolean {
    return this.#state === "new" || this.#state === "idle";
  }

  #enter(state: ConnectionState): void {
    this.#state = state;
    this.#since = this.#host.clock;
    this.#unsent = 0;
  }

  /** The system has taken some bytes. */
  #onWritten(): void {
    this.#noteUnsent();
    this.#makeRoom();
  }

  /** Called where many bytes may have become unsent or sent; the sweep finds all others. */
  #noteUnsent(): void {
    this.#host.unsent.note(this, this.socket.destroyed ? 0 : this.#writer.unsent);
  }

  #isClosing(): boolean {
    return this.#state === "closing" || this.#state === "lingering" || this.#state === "gone";
  }

  #read(chunk: Buffer): void {
    // After the last answer is decided, bytes are still read, so that no reset overtakes it, and dropped.
    if (this.#isClosing()) return;
    this.#reader.add(chunk);
    if (this.#wait === undefined) this.#parse(0);
    else if (this.#reader.left > MAX_UNREAD_BYTES) this.socket.destroy();
  }

  proceed(): void {
    if (this.#wait === undefined || this.#isClosing()) return;
    this.#wait = undefined;
    this.#parse(1);
    // It may wait again, or be closing; then reading resumes elsewhere.
    if (this.#wait === undefined) this.socket.resume();
  }

  /** @param least requests to take however long the turn is */
  #parse(least: 0 | 1): void {
    const { turns } = this.#host;
    for (let taken = 0; this.#reader.left > 0; taken++) {
      const wait = this.#isFull() ? "room" : taken >= least && turns.isOver(taken) ? "turn" : undefined;
      if (wait !== undefined) {
        this.#waitFor(wait, taken === 0);
        return;
      }
      const head = this.#reader.next();
      if (head === "partial") break;
      if (typeof head === "string") {
        this.#refuse(head);
        break;
      }
      this.#take(head);
      if (this.#isClosing()) break;
    }
    this.#writer.flush();
    this.#rest();
  }

  #isFull(): boolean {
    let { unsent } = this.#writer;
    // Ready answers may wait for an earlier one.
    for (const { reply } of this.#answers) unsent += reply?.body.length ?? 0;
    return this.#answers.length >= MAX_ANSWERS || unsent >= MAX_UNSENT_BYTES;
  }

  #waitFor(what: "turn" | "room", hasArrived: boolean): void {
    this.#wait = what;
    this.#state = "busy";
    this.#writer.flush();
    this.socket.pause();
    if (what === "turn") this.#host.turns.add(this, hasArrived);
    // The flush may have made room.
    else if (!this.#isFull()) this.#makeRoom();
  }

  #makeRoom(): void {
    if (this.#wait !== "room" || this.#isFull()) return;
    this.#wait = "turn";
    this.#host.turns.add(this, false);
  }

  #take(head: Head, fault = faultOf(head)): void {
    const { method, target, fields } = head;
    const { app, limits } = this.#host;
    const began = app.begin();
    this.#state = "busy";
    this.requests++;
    this.#minor = head.minor;
    const { maxRequestsPerSocket: most = MAX_REQUESTS } = limits;
    const closes = fault !== undefined || !staysOpen(head) || this.requests >= most;
    if (closes) this.#stopReading();
    this.#isGone ??= this.#watch();
    const ask: Ask = {
      method,
      target,
      authorization: fields.authorization,
      ifNoneMatch: fields.ifNoneMatch,
      ifMatch: fields.ifMatch,
      now: Date.now(),
      headers: fields,
      peer: this,
      isGone: this.#isGone,
    };
    const reply = fault === undefined ? app.answer(ask) : app.refuse(fault, this, ask);
    const isFirst = this.#answers.length === 0;
    if (!(reply instanceof Promise) && isFirst && !this.#mayBeLast() && this.#hasRoom(reply)) {
      this.#write(method, began, reply, closes);
      return;
    }
    this.#queue({ method, began, closes, reply: undefined }, reply);
  }

  #queue(answer: Answer, reply: Reply | Promise<Reply>): void {
    this.#answers.push(answer);
    if (reply instanceof Promise) {
      void reply.then((later) => {
        answer.reply = later;
        this.#deliver();
      });
    } else {
      answer.reply = reply;
      this.#writeReady();
    }
  }

  /** Whether a reply may begin: a large page waits while the unsent bytes of all connections are at their bound. */
  #hasRoom({ body }: Reply): boolean {
    return body.length <= MAX_UNSENT_BYTES || this.#host.unsent.hasRoom(body.length);
  }

  #watch(): () => boolean {
    const isGone = watchPeer(this.socket, () => this.#minor === 1);
    // Between two pieces of a response there is no place for a probe.
    return () => this.#host.givesUpWork || (this.#writer.unsent === 0 ? isGone() : this.socket.destroyed);
  }

  /** Whether the newest answer may be the last although its request did not ask to close. */
  #mayBeLast(): boolean {
    return this.#hasEnded || this.#host.isDraining;
  }

  /** Writes answers that have become ready. @param settled an answer for which {@link #settle} has waited */
  #deliver(settled?: Answer): void {
    if (this.#state === "gone") {
      this.#abort();
      return;
    }
    this.#writeReady(settled);
    this.#writer.flush();
    if (this.#wait === "room") this.#makeRoom();
    else this.#rest();
  }

  #writeReady(settled?: Answer): void {
    for (;;) {
      const [answer] = this.#answers;
      const reply = answer?.reply;
      if (answer === undefined || reply === undefined || !this.#hasRoom(reply)) return;
      let { closes } = answer;
      if (!closes && this.#answers.length === 1 && this.#mayBeLast() && this.#wait === undefined) {
        const isKnown = this.#hasEnded || answer === settled;
        if (!isKnown) {
          this.#settle(answer);
          return;
        }
        closes = this.#reader.isAtEnd;
      }
      this.#answers.shift();
      this.#write(answer.method, answer.began, reply, closes);
    }
  }

  /** Waits until all bytes that the system has received by now were read. */
  #settle(answer: Answer): void {
    this.#writer.flush();
    if (this.#isSettling) return;
    this.#isSettling = true;
    // The first turn may have begun before the bytes arrived.
    setImmediate(() =>
      setImmediate(() => {
        this.#isSettling = false;
        this.#deliver(answer);
      }),
    );
  }

  #write(method: string, began: number, reply: Reply, closes: boolean): void {
    this.#writer.add(reply, closes);
    if (reply.body.length > MAX_UNSENT_BYTES) this.#noteUnsent();
    this.#writer.proceedLater();
    if (began >= 0) this.#host.app.answered(began, method, reply);
    if (!closes) return;
    this.#stopReading();
    this.#sendEnd();
  }

  #sendEnd(): void {
    this.#writer.end();
    if (this.#writer.unsent === 0) this.#enter("lingering");
    else this.#noteUnsent();
  }

  #stopReading(): void {
    if (this.#isClosing()) return;
    this.#enter("closing");
    this.#reader.clear();
    if (this.#wait === undefined) return;
    this.#wait = undefined;
    this.socket.resume();
  }

  /** Answers input that is no request, or a request whose body is none, once and in order. */
  #refuse(fault: FaultName): void {
    if (this.#isClosing()) return;
    const { head } = this.#reader;
    if (head !== undefined) {
      this.#take(head, fault);
      return;
    }
    this.#stopReading();
    const reply = this.#host.app.refuse(fault, this, undefined);
    this.#queue({ method: "", began: -1, closes: true, reply: undefined }, reply);
  }

  /** Sets the state after a visit, from the remaining bytes and answers. */
  #rest(): void {
    if (this.#isClosing() || this.#wait !== undefined) return;
    const isDone = this.#answers.length === 0;
    this.#reader.release();
    if (isDone) {
      if (!this.#reader.isAtEnd) {
        if (this.#state !== "head") this.#enter("head");
      } else if (this.#state !== "new") this.#enter("idle");
    }
    if (!this.#hasEnded || !isDone) return;
    // The peer sends no more, so half a request will never be whole.
    if (this.#reader.isAtEnd) this.finish();
    else this.#refuse("incomplete");
  }

  #end(): void {
    this.#hasEnded = true;
    this.#rest();
  }

  /** Ends the connection after the last answer, or without any. @param linger seconds that its peer then has to close */
  finish(linger = LINGER_TIMEOUT): void {
    if (this.#isClosing()) return;
    this.#linger = linger;
    this.#stopReading();
    this.#sendEnd();
  }

  #close(): number {
    const discarded = this.#unsent + this.#reader.left;
    this.#host.unsent.note(this, 0);
    this.#state = "gone";
    this.#reader.clear();
    this.#wait = undefined;
    this.#abort();
    return discarded;
  }

  /** The peer is gone: counts ready answers as aborted. */
  #abort(): void {
    while (this.#answers[0]?.reply !== undefined) {
      const { began, method, reply } = this.#answers.shift()!;
      if (began >= 0) this.#host.app.aborted(began, method, reply!);
    }
  }

  /** Checks the timeouts, and ends a connection whose peer takes none of its bytes for too long. @param slack milliseconds between two sweeps: the clock may lag by as much */
  sweep(now: number, slack: number): void {
    const { requestTimeout, keepAliveTimeout, socketTimeout } = this.#host.limits;
    // A request is its head.
    const headTimeout = Math.min(this.#host.limits.headersTimeout ?? HEAD_TIMEOUT, requestTimeout);
    const waited = (now - this.#since - slack) / 1000;
    const { unsent } = this.#writer;
    if (unsent > 0) {
      this.#noteUnsent();
      if (unsent !== this.#unsent) {
        this.#unsent = unsent;
        this.#since = now;
      } else if (waited > socketTimeout) this.socket.destroy();
      return;
    }
    // A large page may have waited for room.
    if (this.#answers[0]?.reply !== undefined) {
      this.#deliver();
      return;
    }
    switch (this.#state) {
      case "new":
        if (waited > headTimeout) this.finish();
        break;
      case "head":
        if (waited > headTimeout) this.#refuse("timeout");
        break;
      case "idle":
        if (keepAliveTimeout > 0 && waited > keepAliveTimeout) this.finish();
        break;
      case "closing":
        if (this.socket.writableFinished) this.#enter("lingering");
        break;
      case "lingering":
        if (waited > this.#linger) this.socket.destroy();
        break;
    }
  }
}
