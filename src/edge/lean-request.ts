/**
 * A request of node:http that does only what a server without bodies needs.
 *
 * node:http builds `headers` of every request to look for one name, and takes
 * every request through the life of a stream that nobody reads. Both cost more
 * than all that orrery does for a lookup. Everything that is overridden here is
 * public: `headers` as a getter, `push`, `resume` and `readableEnded`.
 */

import { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

type Headers = Record<PropertyKey, unknown>;

function getterOf<Value>(prototype: object, name: string): (request: IncomingMessage) => Value {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name)!;
  return (request) => get!.call(request) as Value;
}

const builtHeaders = getterOf<Headers>(IncomingMessage.prototype, "headers");
const hasEnded = getterOf<boolean>(Readable.prototype, "readableEnded");

function hasExpect(raw: readonly string[]): boolean {
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!;
    if (name.length === 6 && name.toLowerCase() === "expect") return true;
  }
  return false;
}

/** Headers that are built when somebody asks for more than whether there is an `Expect`. */
const LAZY: ProxyHandler<IncomingMessage> = {
  get: (request, name) =>
    name === "expect" && !hasExpect(request.rawHeaders) ? undefined : builtHeaders(request)[name],
  set: (request, name, value) => Reflect.set(builtHeaders(request), name, value),
  has: (request, name) => Reflect.has(builtHeaders(request), name),
  deleteProperty: (request, name) => Reflect.deleteProperty(builtHeaders(request), name),
  ownKeys: (request) => Reflect.ownKeys(builtHeaders(request)),
  getOwnPropertyDescriptor: (request, name) => Reflect.getOwnPropertyDescriptor(builtHeaders(request), name),
  defineProperty: (request, name, property) => Reflect.defineProperty(builtHeaders(request), name, property),
  getPrototypeOf: () => Object.prototype,
};

/**
 * For the `IncomingMessage` of `createServer`. A request without a body is over
 * as soon as its head is, and emits nothing, unless somebody reads it before;
 * node's own `optimizeEmptyRequests`, which only new versions have, makes the
 * same of one.
 */
export class LeanRequest extends IncomingMessage {
  /** Whether it ended before anything of it was read. */
  isOver = false;
  /** Whether it has a body or somebody who reads it: then it is a stream as any other. */
  isStream = false;

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    const isWatched = this.listenerCount("readable") > 0 || this.listenerCount("end") > 0;
    if (chunk === null && !this.isStream && !isWatched) {
      this.isOver = true;
      return false;
    }
    this.isStream = true;
    return super.push(chunk, encoding);
  }

  /** Called by whoever reads it, and by node:http behind the response. */
  override resume(): this {
    if (this.isOver) return this;
    this.isStream = true;
    return super.resume();
  }
}

// As members of the class they would be getters of what the types declare as properties.
Object.defineProperties(LeanRequest.prototype, {
  headers: {
    get(this: LeanRequest) {
      return new Proxy<IncomingMessage>(this, LAZY);
    },
    set(this: LeanRequest, headers: unknown) {
      Reflect.set(IncomingMessage.prototype, "headers", headers, this);
    },
  },
  readableEnded: {
    get(this: LeanRequest) {
      return this.isOver || hasEnded(this);
    },
  },
});
