/** The URL of a PostgreSQL database, and errors of its server without its password. */

import type { Environment } from "../../cli/options.ts";
import { problemWithNames } from "../../util/distance.ts";
import { SourceError } from "../../util/source-error.ts";
import { codeOf, systemErrorText } from "../../util/system-error.ts";

export interface PostgresUrl {
  /** For the library, in the order of attempts: one, or with TLS and without. They hold the password: never print them. */
  readonly connectionStrings: readonly string[];
  /** Timeout of a connection in milliseconds. */
  readonly connectMs: number;
  /** Forms of the passwords that servers or libraries may quote and no message may show; none is empty. */
  readonly secrets: readonly string[];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const CONNECT_SECONDS = 15;
const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/**
 * Variables of `psql` that the library does not read, or reads with another meaning, by the parameter of a URL that they
 * replace. It reads PGHOST, PGPORT, PGUSER, PGPASSWORD, PGPASSFILE, PGDATABASE, PGOPTIONS and PGAPPNAME itself.
 */
const VARIABLES = {
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
  connect_timeout: "PGCONNECT_TIMEOUT",
} as const;

/** Parameters of a URL that mean what they mean to `psql`: of these, some by {@link VARIABLES}, the others by the library. */
const PARAMETERS = [
  ...["host", "port", "user", "password", "application_name", "fallback_application_name", "options"],
  ...Object.keys(VARIABLES),
];

/** A number of seconds as `psql` reads it; undefined for none, as for 0 and below. @throws {SourceError} */
function secondsOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\s*[+-]?\d{1,9}\s*$/.test(text)) throw new SourceError(`${name} must be a number of seconds`);
  return Number(text) > 0 ? Number(text) : undefined;
}

/** Whether the server is reached by a Unix socket, which has no TLS. */
function isBySocket(url: URL, environment: Environment): boolean {
  const host = url.searchParams.get("host") || decoded(url.hostname) || environment.PGHOST;
  return host?.startsWith("/") ?? false;
}

/** The text with parameters of its query replaced. */
function withParameters(text: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const [address, query = ""] = text.split("#")[0]!.split(/\?(.*)/s) as [string, string?];
  const search = new URLSearchParams(query);
  for (const [name, value] of Object.entries(parameters))
    value === undefined ? search.delete(name) : search.set(name, value);
  return search.size === 0 ? address : `${address}?${search}`;
}

/** The connection strings of a URL whose TLS is as `psql` reads its parameters and the environment. @throws {SourceError} */
function stringsFor(text: string, url: URL, environment: Environment): readonly string[] {
  const { searchParams } = url;
  const [mode, root, certificate, key] = (["sslmode", "sslrootcert", "sslcert", "sslkey"] as const).map(
    (name) => searchParams.get(name) || environment[VARIABLES[name]] || undefined,
  );
  if (mode !== undefined && !MODES.includes(mode)) {
    const name = searchParams.get("sslmode") ? "sslmode" : VARIABLES.sslmode;
    throw new SourceError(`${name} must be one of ${MODES.join(", ")}`);
  }
  const none = { sslrootcert: undefined, sslcert: undefined, sslkey: undefined };
  const plain = withParameters(text, { ...none, sslmode: "disable" });
  if (isBySocket(url, environment)) return [plain];
  const isSystems = root === "system";
  const files = { sslrootcert: isSystems ? undefined : root, sslcert: certificate, sslkey: key };
  const encryptedAs = (sslmode: string): string =>
    withParameters(text, { ...files, sslmode, uselibpqcompat: "true" });
  if (isSystems && (mode === undefined || mode.startsWith("verify"))) return [encryptedAs("verify-full")];
  if (mode === undefined && root === undefined) return [text];
  if (mode === "disable") return [plain];
  if (mode === "allow" || mode === "prefer") return [encryptedAs("require"), plain];
  return [encryptedAs(mode ?? "require")];
}

/**
 * Checks a URL. Its parameters and the variables of the environment have the same meaning as in `psql`; those that would have
 * none are refused. Without any `sslmode` the connection is not encrypted.
 *
 * @throws {SourceError}
 */
export function readPostgresUrl(text: string, environment: Environment): PostgresUrl {
  if (!/^postgres(ql)?:\/\//.test(text))
    throw new SourceError("must begin with postgres:// or postgresql://");
  // Like the library, allow an empty host after a user.
  const found = [text, text.replace("@/", "@localhost/")].find((one) => URL.canParse(one));
  if (found === undefined)
    throw new SourceError("is not a URL; special characters of a password must be percent-encoded");
  const url = new URL(found);
  // Otherwise part of a password could be taken for the host or database, and named in messages.
  const behindHost = url.pathname + url.search + url.hash;
  if (behindHost.includes("@")) {
    throw new SourceError(
      "has an @ behind the host; special characters of a password must be percent-encoded (/ is %2F, ? is %3F, # is %23)",
    );
  }
  const unknown = problemWithNames(
    Object.fromEntries(url.searchParams),
    PARAMETERS,
    "or unsupported parameter",
  );
  if (unknown !== undefined) throw new SourceError(`has an ${unknown}`);
  const passwords = [url.password, url.searchParams.get("password") ?? ""];
  const secrets = new Set(
    passwords.flatMap((password) => [password, decoded(password), encodeURIComponent(decoded(password))]),
  );
  const seconds =
    secondsOf(url.searchParams.get("connect_timeout") ?? undefined, "connect_timeout") ??
    secondsOf(environment[VARIABLES.connect_timeout] || undefined, VARIABLES.connect_timeout);
  const connectionStrings = stringsFor(text, url, environment);
  return {
    connectionStrings,
    connectMs: (seconds ?? CONNECT_SECONDS) * 1000,
    secrets: [...secrets].filter((secret) => secret !== "").sort((a, b) => b.length - a.length),
  };
}

/** Advice for errors whose own message is not enough, by a pattern of that message. */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [
    /no encryption|SSL off|requires? (SSL|TLS|encryption)|SSL required/i,
    "the server may require TLS: add sslmode=require or sslmode=verify-full to the URL, or set PGSSLMODE",
  ],
  [/does not support SSL/i, "the URL or PGSSLMODE asks for TLS: sslmode=disable goes without"],
  [
    /client password must be a string/,
    "the server asks for a password, and there is none in the URL, PGPASSWORD or ~/.pgpass",
  ],
];

/** OpenSSL codes for an untrusted server certificate. */
const CERTIFICATE = /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT)/;

/** Most characters of a text of the server that a message quotes. */
const MOST_QUOTED = 1000;

function wordsOf(error: unknown, quoted: (text: string) => string): string {
  // Every address of the host failed.
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0], quoted);
  const system = systemErrorText(error);
  if (system !== undefined) return system;
  if (!(error instanceof Error)) return quoted(String(error));
  const { hint } = error as { hint?: string };
  const code = codeOf(error);
  const first = quoted(error.message);
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(first)) ?? [];
  if (advice !== undefined) return /client password/.test(first) ? advice : `${first}; ${advice}`;
  if (first === "timeout expired") return "no answer in time";
  if (/^(Connection terminated|Client has encountered a connection error)/.test(first))
    return "the connection broke";
  const trust = CERTIFICATE.test(code ?? "")
    ? "; sslrootcert=FILE in the URL, or PGSSLROOTCERT, names the authority to trust"
    : "";
  return `${first}${hint === undefined ? "" : `; ${quoted(hint)}`}${code === undefined ? "" : ` (${code})`}${trust}`;
}

/** An error of the server, the network or the library as one line of bounded length, with every secret removed. */
export function postgresText(error: unknown, secrets: PostgresUrl["secrets"]): string {
  const masked = (text: string): string =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
  const longest = secrets[0]?.length ?? 0;
  const quoted = (text: string): string => {
    const [line = ""] = text.slice(0, MOST_QUOTED + longest + 1).split("\n", 1);
    // The end of a cut line may be a part of a secret.
    return line.length <= MOST_QUOTED ? masked(line) : `${masked(line).slice(0, -longest - 1)}…`;
  };
  return masked(wordsOf(error, quoted));
}
