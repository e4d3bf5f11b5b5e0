/** Another server of the API in this process, whose replies a test can inspect, change and withhold. */

import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { type OpenOptions, openOrrery } from "../../src/mod.ts";
import { TIMING, type Timing } from "../../src/upstream/retry.ts";
import { listen } from "./ports.ts";

/** A reply in transit; a test may change it. */
export interface Passing {
  readonly target: string;
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type Upstream = Awaited<ReturnType<typeof startUpstream>>;

export const API_TOKEN = "svc_sk_upstream-canary-0815";
export const CLI_TOKEN = "svcx_upstream-canary-0815";

/** Hardly any pauses, but enough time for a busy machine to answer. */
export const QUICK: Timing = { ...TIMING, firstPauseMs: 1, mostPauseMs: 4, mostRetryAfterMs: 2000 };

export async function startUpstream(snapshot: string, options: Partial<OpenOptions> = {}) {
  const orrery = await openOrrery({
    snapshot,
    keys: [
      { id: "api", kind: "api", token: API_TOKEN },
      { id: "cli", kind: "cli", token: CLI_TOKEN },
    ],
    watch: 0,
    threads: false,
    ...options,
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (await upstream.fault?.(request, response)) return;
    const { authorization, "if-match": ifMatch, "if-none-match": ifNoneMatch } = request.headers;
    const reply = await orrery.ask({ target: request.url!, authorization, ifMatch, ifNoneMatch });
    const passing: Passing = { ...reply, headers: { ...reply.headers }, target: request.url! };
    upstream.change?.(passing);
    upstream.asked.push({ target: request.url!, status: passing.status, headers: request.headers });
    delete passing.headers["content-length"];
    response.writeHead(passing.status, passing.headers).end(passing.body);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const upstream = {
    /** Without the base path. */
    url: `http://127.0.0.1:${await listen(server)}`,
    asked: [] as { target: string; status: number; headers: IncomingMessage["headers"] }[],
    change: undefined as ((reply: Passing) => void) | undefined,
    /** Answers in its own way; true if it did. The request waits for a promise. */
    fault: undefined as
      | ((request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>)
      | undefined,
    reload: orrery.reload,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      orrery.close();
    },
  };
  return upstream;
}

export function tokenFile(folder: string, token: string): string {
  const file = join(folder, "token");
  writeFileSync(file, `${token}\n`);
  return file;
}
