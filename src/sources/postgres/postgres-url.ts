/** The URL of a PostgreSQL database: what of it may be shown, and what must not. */

import type { Secrets } from "./postgres-errors.ts";

/** A URL that was looked at. */
export interface PostgresUrl {
  /** For the library. Holds the password: never to be printed. */
  readonly connectionString: string;
  /** What must appear in no message. */
  readonly secrets: Secrets;
}

/** Is no URL of a PostgreSQL database; its message holds nothing of it. */
export class PostgresUrlError extends Error {
  override name = "PostgresUrlError";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parses it as the library does, which allows an empty host behind a user. */
function parse(text: string): URL {
  try {
    return new URL(text);
  } catch {
    return new URL(text.replace("@/", "@localhost/"));
  }
}

/**
 * Looks at a URL: `postgres://user:password@host:port/database?sslmode=require`. `sslmode` means what it means to `psql`.
 *
 * @throws {PostgresUrlError}
 */
export function readPostgresUrl(text: string): PostgresUrl {
  if (!/^postgres(ql)?:\/\//.test(text))
    throw new PostgresUrlError("must begin with postgres:// or postgresql://");
  let url: URL;
  try {
    url = parse(text);
  } catch {
    throw new PostgresUrlError("is not a URL; special characters of a password must be percent-encoded");
  }
  // Else a part of a password would be taken for a host or a database, and named in messages.
  const behindHost = url.pathname + url.search + url.hash;
  if (behindHost.includes("@")) {
    throw new PostgresUrlError(
      "has an @ behind the host; special characters of a password must be percent-encoded (/ is %2F, ? is %3F, # is %23)",
    );
  }
  const passwords = [
    url.password,
    ...["password", "sslpassword"].map((name) => url.searchParams.get(name) ?? ""),
  ];
  const secrets = new Set(
    passwords.flatMap((password) => [password, decoded(password), encodeURIComponent(decoded(password))]),
  );
  const { searchParams } = url;
  const isLibrarys = searchParams.get("sslmode") === "no-verify" || searchParams.has("uselibpqcompat");
  const separator = url.search === "" ? "?" : "&";
  const isTls = searchParams.has("sslmode") && !isLibrarys;
  const [withoutHash] = text.split("#") as [string];
  return {
    connectionString: isTls ? `${withoutHash}${separator}uselibpqcompat=true` : text,
    secrets: [...secrets].filter((secret) => secret !== "").sort((a, b) => b.length - a.length),
  };
}
