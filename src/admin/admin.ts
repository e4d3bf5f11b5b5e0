/**
 * The admin listener: its settings, and HTTP with tight limits, from before the first load until the last request is
 * answered. It runs on the main thread, which answers the API, too, or hands generations to the serving threads. It
 * accepts every connection, so that it never refuses a health probe: when there are many, the oldest idle one ends.
 */

import { isIPv4, isIPv6 } from "node:net";
import { CommandError, type Options, UsageError } from "../cli/options.ts";
import { readToken } from "../files/given.ts";
import { type HttpLimits, HttpServer } from "../http/server.ts";
import { FAULTS, type FaultName } from "../model/fault.ts";
import type { Ask, Reply } from "../model/message.ts";
import { originOf, placeText, problemWithSocketPath, socketPathOf } from "../model/socket-place.ts";
import type { Admin, AdminGiven, OpenAdmin } from "../server/server.ts";
import { adminConnectionLimit } from "../util/process/connection-limit.ts";
import { codeOf, problemText } from "../util/system-error.ts";
import { createAdminRouter, errorReply } from "./router.ts";
import { adminRows } from "./rows.ts";
import { watchServer } from "./watched.ts";

export interface AdminAddress {
  /** A name, or an IP address without brackets. */
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
}

const DEFAULT_HOST = "127.0.0.1";
/** Default address of a demo, or any free port if this one is in use: several demos may run at the same time. */
const SPARE: AdminAddress = { host: DEFAULT_HOST, port: 8788 };
const NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i;

/** An address; undefined if the text is none. */
export function parseAdminAddress(text: string): AdminAddress | undefined {
  if (text.startsWith("unix:"))
    return problemWithSocketPath(text) === undefined ? { host: text, port: 0 } : undefined;
  const [, host, digits] = /^(?:(.*):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) return undefined;
  if (host === undefined) return { host: DEFAULT_HOST, port };
  const [, inBrackets] = /^\[(.*)\]$/.exec(host) ?? [];
  if (inBrackets !== undefined) return isIPv6(inBrackets) ? { host: inBrackets, port } : undefined;
  // Some resolvers read any digits and dots as an address, even an invalid one.
  const isName = NAME.test(host) && !/^[\d.]+$/.test(host);
  return isIPv4(host) || isName ? { host, port } : undefined;
}

/** Whether only this machine can reach a listener on the host. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost" || socketPathOf(host) !== undefined) return true;
  if (isIPv4(host)) return host.startsWith("127.");
  return isIPv6(host) && /^(::1|0*(:0*){6}:0*1|::ffff:127\.[\d.]+)$/i.test(host);
}

export interface AdminSettings {
  readonly address: AdminAddress;
  /** Further host names that requests may name. */
  readonly names?: readonly string[];
  /** Required of requests if given; visible ASCII. */
  readonly token?: string | undefined;
}

/** Reads the settings; undefined if the listener is off. @throws {UsageError} or {@link SourceError} naming the setting */
export async function readAdminSettings(
  options: Options<"serve" | "demo">,
  inherited?: string,
): Promise<AdminSettings | undefined> {
  const { host, port, admin: text, adminNames: names, adminTokenFile: file } = options.values;
  const fail = (problem: string): never => {
    throw new UsageError(`${options.names.admin}: ${problem}`);
  };
  if (inherited === undefined && text === "off") return undefined;
  const given = text === undefined ? SPARE : parseAdminAddress(text);
  const address = inherited === undefined ? given : { host: inherited, port: 0 };
  if (address === undefined)
    return fail(`must be PORT, HOST:PORT, [IPV6]:PORT, unix:/PATH or off, is ${JSON.stringify(text)}`);
  if (address.port !== 0 && address.port === port && address.host === host)
    return fail(`${host} port ${port} is where the API listens; choose another port`);
  if (file !== undefined)
    return { address, names, token: await readToken(file, options.names.adminTokenFile) };
  // The address of an inherited socket is known when it listens.
  if (inherited !== undefined || isLoopback(address.host)) return { address, names };
  return fail(tokenRequired(address.host));
}

function tokenRequired(host: string): string {
  return `--admin-token-file is required, since others than this machine may reach ${host}`;
}

const LIMITS: HttpLimits = {
  headersTimeout: 5,
  requestTimeout: 10,
  keepAliveTimeout: 75,
  socketTimeout: 10,
  maxRequestsPerSocket: Number.POSITIVE_INFINITY,
  makesRoom: true,
};

/** Time that a close waits for unfinished answers. */
const CLOSE_MS = 500;

function forMethod(reply: Reply, method: string | undefined): Reply {
  return method === "HEAD" ? { ...reply, body: "" } : reply;
}

function faultReply(fault: FaultName, method: string | undefined): Reply {
  return forMethod(errorReply(FAULTS[fault].status, FAULTS[fault].message), method);
}

/** Starts listening. @throws {CommandError} */
async function startAdmin({ address, names = [], token }: AdminSettings, given: AdminGiven): Promise<Admin> {
  const watched = watchServer(given);
  const answer = createAdminRouter(adminRows(watched), { names: [address.host, ...names], token });
  const maxConnections = adminConnectionLimit();
  const { observe } = given;

  /** Without a promise unless the row needs one: answers to a pipeline are then written together. */
  function answerSafely(ask: Ask): Reply | Promise<Reply> {
    const failed = (error: unknown): Reply => {
      observe({ kind: "defect", where: "admin", error });
      return faultReply("internal", ask.method);
    };
    try {
      const reply = answer(ask);
      if (!(reply instanceof Promise)) return forMethod(reply, ask.method);
      return reply.then((later) => forMethod(later, ask.method)).catch(failed);
    } catch (error) {
      return failed(error);
    }
  }

  const server = new HttpServer(
    {
      answer: answerSafely,
      refuse: (fault, _socket, ask) => faultReply(fault, ask?.method),
      begin: () => 0,
      answered() {},
      aborted() {},
      observe,
      where: "admin listener",
    },
    { ...LIMITS, maxConnections },
  );
  const { host, port } = address;
  const bound = await server.listen(host, port).catch((error: unknown) => {
    const isInUse = codeOf(error) === "EADDRINUSE";
    if (isInUse && address === SPARE) return server.listen(host, 0);
    const why = isInUse
      ? "the port is in use; choose another with --admin or ORRERY_ADMIN"
      : problemText(error);
    throw new CommandError(`cannot listen for --admin on ${placeText(host, port)}: ${why}`);
  });
  if (token === undefined && !isLoopback(bound.address)) {
    await server.close(0);
    throw new UsageError(`the inherited socket "admin": ${tokenRequired(bound.address)}`);
  }
  return {
    url: bound.family === "unix" ? originOf(bound) : `${originOf(bound)}/`,
    maxConnections,
    watched,
    close: () => server.close(CLOSE_MS),
  };
}

/** Returns the function that starts the listener. */
export function adminAt(settings: AdminSettings): OpenAdmin {
  return (given) => startAdmin(settings, given);
}
