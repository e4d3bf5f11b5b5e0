/** The URL of a counter server: its parts, and the ones safe to show. */

export interface RedisTarget {
  readonly tls: boolean;
  readonly host: string;
  readonly port: number;
  /** Path of a socket, instead of host and port. */
  readonly path: string | undefined;
  readonly username: string | undefined;
  /** Must not appear in any message. */
  readonly password: string | undefined;
  readonly database: number;
}

/** The text is no URL of a counter server; the message quotes nothing of it. */
export class RedisUrlError extends Error {
  override name = "RedisUrlError";
}

const DEFAULT_PORT = 6379;

const ENCODED = "special characters of a password must be percent-encoded";

function decoded(text: string): string | undefined {
  if (text === "") return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlError(`is not a URL; ${ENCODED}`);
  }
}

function databaseOf(text: string): number {
  if (text === "") return 0;
  if (!/^\d{1,9}$/.test(text)) throw new RedisUrlError("must have no path but the number of a database");
  return Number(text);
}

/**
 * `unix:/run/redis.sock`, `unix:///run/redis.sock?db=1`, `unix://user:password@/run/redis.sock`. A path must not begin
 * with two slashes: it might be a host, or part of a password with a slash, and messages show paths.
 */
function readUnix(text: string): RedisTarget {
  const [, user = "", password = "", path = "", query = ""] =
    /^unix:(?:\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?)?(\/(?!\/)[^?#]+)(?:\?(db=\d*))?$/.exec(text) ?? [];
  if (path === "") throw new RedisUrlError(`must be unix:/path/of/the/socket or unix:/…?db=1; ${ENCODED}`);
  return {
    tls: false,
    host: "",
    port: 0,
    path: decoded(path),
    username: decoded(user),
    password: decoded(password),
    database: databaseOf(new URLSearchParams(query).get("db") ?? ""),
  };
}

/** Reads `redis://user:password@host:6379/0`, `rediss:` (TLS) or `unix:`. @throws {RedisUrlError} */
export function readRedisUrl(text: string): RedisTarget {
  if (text.startsWith("unix:")) return readUnix(text);
  if (!/^rediss?:\/\//.test(text)) throw new RedisUrlError("must begin with redis://, rediss:// or unix:/");
  if (!URL.canParse(text)) throw new RedisUrlError(`is not a URL; ${ENCODED}`);
  const url = new URL(text);
  // Otherwise a part of a password would be read as a host or a path, and shown in messages.
  if ((url.pathname + url.search + url.hash).includes("@")) {
    throw new RedisUrlError(`has an @ behind the host; ${ENCODED} (/ is %2F, ? is %3F, # is %23)`);
  }
  if (url.search !== "" || url.hash !== "") throw new RedisUrlError("must have no query and no fragment");
  if (url.hostname === "") throw new RedisUrlError("has no host");
  if (url.port === "0") throw new RedisUrlError("must have a port from 1 to 65535");
  return {
    tls: url.protocol === "rediss:",
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    path: undefined,
    username: decoded(url.username),
    password: decoded(url.password),
    database: databaseOf(url.pathname.slice(1)),
  };
}

/** The address of a target, safe to show. */
export function placeOf({ path, host, port }: RedisTarget): string {
  return path ?? `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The problem with a URL, in words that quote nothing of it; undefined if it is valid. */
export function problemWithRedisUrl(text: string): string | undefined {
  try {
    readRedisUrl(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof RedisUrlError)) throw error;
    return error.message;
  }
}
