/**
 * A raw HTTP/1.1 client over a socket: sends exactly the given bytes, and
 * reads responses so strictly that a server's slip becomes an error.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after } from "node:test";
import { setImmediate } from "node:timers/promises";
import { deferred, PATIENCE_MS, within } from "./patience.ts";

/** How long a server waits for a peer after its last answer. Tests on a busy machine may be slower than that. */
const LINGER_MS = 2000;

export interface RawResponse {
  readonly version: string;
  readonly status: number;
  readonly reason: string;
  /** Names as sent, in order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

export function header({ headers }: RawResponse, name: string): string | undefined {
  const found = headers.filter(([key]) => key.toLowerCase() === name.toLowerCase());
  assert.ok(found.length <= 1, `${name} stands ${found.length} times`);
  return found[0]?.[1];
}

/** The text of `error`; the body must hold no other field. */
export function errorOf(response: RawResponse): string {
  assert.equal(header(response, "Content-Type"), "application/json; charset=utf-8");
  const body = JSON.parse(response.body);
  assert.deepEqual(Object.keys(body), ["error"]);
  return body.error;
}

/** Reads one response from the start of some bytes; undefined while it is incomplete. */
function takeResponse(bytes: Buffer, method: string): { response: RawResponse; length: number } | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first, ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = /^(HTTP\/1\.1) ([1-5]\d\d) ([\x20-\x7e]+)$/.exec(first!);
  assert.ok(status, `no status line: ${JSON.stringify(first)}`);
  const headers = lines.map((line) => {
    const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x20-\x7e]*)$/.exec(line);
    assert.ok(field, `no header line: ${JSON.stringify(line)}`);
    return [field[1]!, field[2]!] as const;
  });
  const head = { version: status[1]!, status: Number(status[2]), reason: status[3]!, headers, body: "" };
  assert.equal(header(head, "Transfer-Encoding"), undefined, "every length is known beforehand");
  const start = end + 4;
  if (head.status < 200) return { response: head, length: start };
  assert.ok(header(head, "Date") !== undefined, "a response without Date");
  const said = header(head, "Content-Length");
  if (head.status === 204 || head.status === 304) {
    assert.equal(said ?? "0", "0");
    return { response: head, length: start };
  }
  assert.match(said ?? "(none)", /^\d+$/, "a response without Content-Length");
  const length = start + (method === "HEAD" ? 0 : Number(said));
  if (bytes.length < length) return undefined;
  return { response: { ...head, body: bytes.toString("utf8", start, length) }, length };
}

/** One connection, closed after the tests of the file at the latest. */
export class Wire {
  readonly socket: Socket;
  /** Resolves when the server has half-closed the connection or it broke. */
  readonly ending: Promise<string>;
  /** Resolves when the connection is gone: with the error that broke it, if any. */
  readonly gone: Promise<string | undefined>;
  #unread: Buffer[] = [];
  /** `fin` once the server has half-closed the connection, or the code of the error that broke it. */
  #ended: string | undefined;
  #error: string | undefined;
  #wake: (() => void) | undefined;
  #asked = performance.now();

  /** @param port on the loopback interface */
  constructor(port: number) {
    // Half-open, to tell the end of the server's side from the end of ours.
    this.socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true, noDelay: true });
    const { promise, resolve: finish } = deferred<string>();
    this.ending = promise;
    const end = (ending: string): void => {
      this.#ended ??= ending;
      finish(ending);
      this.#wake?.();
    };
    this.socket.on("data", (chunk) => {
      this.#unread.push(chunk);
      this.#wake?.();
    });
    this.socket.on("end", () => end("fin"));
    this.socket.on("error", (error: NodeJS.ErrnoException) => {
      this.#error = error.code ?? error.message;
      end(this.#error);
    });
    this.gone = new Promise((resolve) => {
      this.socket.on("close", () => {
        wires.delete(this);
        end("closed");
        resolve(this.#error);
      });
    });
    wires.add(this);
  }

  async open(): Promise<this> {
    if (this.socket.connecting) await within(once(this.socket, "connect"), "a connection");
    return this;
  }

  /** Writes bytes; text is one byte per char. Resolves when the system has accepted them. */
  send(bytes: string | Buffer): Promise<void> {
    this.#asked = performance.now();
    return this.#write(bytes);
  }

  #write(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes as string, "latin1", () => resolve()));
  }

  /** Writes in pieces, each in a turn of its own: the server runs between them. */
  async sendSlowly(pieces: Iterable<string | Buffer>): Promise<void> {
    for (const piece of pieces) {
      await this.#write(piece);
      await setImmediate();
      await setImmediate();
    }
  }

  end(): void {
    this.socket.end();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** The next response; rejects when the connection ends without one. */
  response(method = "GET", ms = PATIENCE_MS): Promise<RawResponse> {
    return within(this.#next(method), `the response to ${method}`, ms);
  }

  async #next(method: string): Promise<RawResponse> {
    let seen = -1;
    for (;;) {
      if (this.#unread.length !== seen) {
        const bytes = this.#bytes();
        seen = this.#unread.length;
        const taken = takeResponse(bytes, method);
        if (taken !== undefined) {
          this.#unread = taken.length === bytes.length ? [] : [bytes.subarray(taken.length)];
          return taken.response;
        }
      }
      if (this.#ended !== undefined) {
        const rest = this.#bytes().toString("latin1");
        throw new Error(`${this.#ended} instead of a response; unread: ${JSON.stringify(rest)}`);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #bytes(): Buffer {
    const bytes = this.#unread.length === 1 ? this.#unread[0]! : Buffer.concat(this.#unread);
    this.#unread = [bytes];
    return bytes;
  }

  /** Waits until the server half-closes; bytes after the last read response are an error. */
  async fin(): Promise<void> {
    assert.equal(await within(this.ending, "the end of the connection"), "fin");
    assert.equal(this.#bytes().toString("latin1"), "", "bytes behind the last response");
  }

  /** {@link fin}, then closes our side, which must not meet a reset. */
  async closed(): Promise<void> {
    await this.fin();
    this.end();
    const error = await within(this.gone, "the close of the connection");
    if (performance.now() - this.#asked < LINGER_MS) assert.equal(error, undefined);
    else assert.match(error ?? "none", /^(none|EPIPE|ECONNRESET)$/);
  }

  /** Half-closes our side; the server must end its side without another byte. */
  async hangUp(): Promise<void> {
    this.end();
    await this.closed();
  }
}

const wires = new Set<Wire>();

export function dial(port: number): Promise<Wire> {
  return new Wire(port).open();
}

after(() => {
  for (const wire of wires) wire.destroy();
});

/** Sends a request on a connection of its own, which it ends. */
export async function askOnce(
  port: number,
  target: string,
  headers: readonly string[] = [],
  method = "GET",
): Promise<RawResponse> {
  const wire = await dial(port);
  void wire.send(requestHead(target, headers, method));
  const response = await wire.response(method);
  wire.destroy();
  return response;
}

/** Opens a connection, sends bytes, and reads the one response, which ends the connection. */
export async function lastWord(port: number, bytes: string | Buffer, method = "GET"): Promise<RawResponse> {
  const wire = await dial(port);
  void wire.send(bytes);
  const response = await wire.response(method);
  await wire.closed();
  return response;
}

/** Head of a request, blank line included. Adds `Host` unless `headers` name it. */
export function requestHead(target: string, headers: readonly string[] = [], method = "GET"): string {
  const host = headers.some((line) => /^host:/i.test(line)) ? [] : ["Host: orrery.test"];
  return [`${method} ${target} HTTP/1.1`, ...host, ...headers, "", ""].join("\r\n");
}

const HEAD_BYTES = 16_384;

/** A head of 16 KiB: repeats a text in it. */
export function filled(make: (text: string) => string, unit: string): string {
  return make(unit.repeat(Math.floor((HEAD_BYTES - make("").length) / unit.length)));
}
