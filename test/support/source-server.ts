/** A static host of snapshots that can be made to fail, and a source that follows it without long pauses. */

import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import { join } from "node:path";
import type { Observation } from "../../src/observe/events.ts";
import { loadSnapshot } from "../../src/snapshot/load.ts";
import { UrlSource, type UrlSourceOptions } from "../../src/sources/url/url.ts";
import { instance, snapshotFiles, temporaryFolder, withManifest } from "./folders.ts";
import { mustLoad } from "./loaded.ts";
import { listen } from "./ports.ts";

/** Answers a request in its own way; false leaves the request to the host. */
type Fault = (request: IncomingMessage, response: ServerResponse) => boolean | undefined;

/** Answers every request alike. */
export function answering(status: number, headers: OutgoingHttpHeaders = {}, body = ""): Fault {
  return (_request, response) => {
    response.writeHead(status, headers).end(body);
    return true;
  };
}

export type Host = Awaited<ReturnType<typeof startHost>>;

export function etagOf(bytes: Buffer): string {
  return `"${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}"`;
}

/** Sends a file as an old host does: by HTTP/1.0, ended by closing. */
export function sendOld(response: ServerResponse, bytes: Buffer, hasLength: boolean): void {
  const length = hasLength ? `Content-Length: ${bytes.length}\r\n` : "";
  response.socket!.write(`HTTP/1.0 200 OK\r\n${length}\r\n`);
  response.socket!.end(bytes);
}

/** @param tls its key and certificate, for https: */
export async function startHost(files: ReadonlyMap<string, Buffer> = new Map(), tls?: ServerOptions) {
  const nameOf = ({ url }: IncomingMessage): string => url!.slice("/snapshot/".length);
  const answer: RequestListener = (request, response) => {
    host.asked.push({ name: nameOf(request), headers: request.headers, status: () => response.statusCode });
    if (host.fault?.(request, response) !== true) sendFile(request, response);
  };
  const sendFile: RequestListener = (request, response) => {
    const bytes = host.files.get(nameOf(request));
    if (bytes === undefined) {
      response.writeHead(404).end("not here");
      return;
    }
    const etag = etagOf(bytes);
    response.setHeader("etag", etag);
    if (request.headers["if-none-match"] === etag) response.writeHead(304).end();
    else response.writeHead(200, { "content-length": bytes.length }).end(bytes);
  };
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  let port = 0;
  const open = async (): Promise<void> => {
    port = await listen(server, port);
  };
  await open();
  const host = {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}/snapshot/`,
    /** By name; tests may change them. */
    files,
    fault: undefined as Fault | undefined,
    sendFile,
    asked: [] as { name: string; headers: IncomingMessage["headers"]; status: () => number }[],
    /** Number of connections now. */
    openConnections: () =>
      new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count))),
    /** Listens on the same port once more. */
    open,
    /** Stops and refuses connections. */
    close: async () => {
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return host;
}

export function follow(address: string, cache: string, options: Partial<UrlSourceOptions> = {}) {
  const observed: Observation[] = [];
  const source = new UrlSource({
    address,
    cache,
    tokenName: "--snapshot-token-file",
    firstPauseMs: 1,
    observe: (observation) => observed.push(observation),
    ...options,
  });
  const { signal } = new AbortController();
  return {
    refresh: source.refresh.bind(source),
    removeDamagedCopy: (folder: string) => source.removeDamagedCopy(folder),
    problem: () => source.problem(),
    observed,
    of: <Kind extends Observation["kind"]>(kind: Kind) =>
      observed.filter((entry) => entry.kind === kind) as Extract<Observation, { kind: Kind }>[],
    ask: (occasion: "start" | "watch" | "reload" = "start") => source.refresh(occasion, signal),
  };
}

/** Paths below a folder of what publications leave only when they are killed. */
export function leftOvers(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => /\.(partial|lock|tmp)$|^next$/.test(name))
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** Two snapshots that differ in their instances alone. */
export const FIRST = withManifest(snapshotFiles(), "first");
export const SECOND = withManifest(
  snapshotFiles({ "instances.ndjson": [instance(1), instance(2)] }),
  "second",
);

/** Resets a host. @returns an empty cache folder */
export function freshen(host: Host, test: { after(done: () => void): void }): string {
  host.files = FIRST;
  host.fault = undefined;
  host.asked.length = 0;
  return temporaryFolder(test);
}

/** The generation in a folder, which must be complete. */
export async function generationIn(folder: string): Promise<string> {
  return mustLoad(await loadSnapshot(folder)).store.id;
}
