/** The URL of a PostgreSQL database, and errors of its server without its password. */

import { SourceError } from "../../util/source-error.ts";
import { codeOf, systemErrorText } from "../../util/system-error.ts";

export interface PostgresUrl {
  /** For the library. Holds the password: never print it. */
  readonly connectionString: string;
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

/** Checks a URL. `sslmode` has the same meaning as in `psql`. @throws {SourceError} */
export function readPostgresUrl(text: string): PostgresUrl {
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

/** Advice for errors whose own message is not enough, by a pattern of that message. */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [
    /no encryption|SSL off|requires? (SSL|TLS|encryption)|SSL required/i,
    "the server may require TLS: add sslmode=require or sslmode=verify-full to the URL",
  ],
  [/does not support SSL/i, "the URL asks for TLS: sslmode=disable goes without"],
  [
    /client password must be a string/,
    "the server asks for a password, and there is none in the URL, PGPASSWORD or ~/.pgpass",
  ],
];

/** OpenSSL codes for an untrusted server certificate. */
const CERTIFICATE = /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT)/;

function wordsOf(error: unknown): string {
  // Every address of the host failed.
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0]);
  const system = systemErrorText(error);
  if (system !== undefined) return system;
  if (!(error instanceof Error)) return String(error);
  const { message } = error;
  const { hint } = error as { hint?: string };
  const code = codeOf(error);
  const [first = ""] = message.split("\n");
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(first)) ?? [];
  if (advice !== undefined) return /client password/.test(first) ? advice : `${first}; ${advice}`;
  if (first === "timeout expired") return "no answer in time";
  if (/^Connection terminated/.test(first)) return "the connection broke";
  const trust = CERTIFICATE.test(code ?? "")
    ? "; sslrootcert=FILE in the URL names the authority to trust"
    : "";
  return `${first}${hint === undefined ? "" : `; ${hint.split("\n")[0]}`}${code === undefined ? "" : ` (${code})`}${trust}`;
}

/** An error of the server, the network or the library as one line, with every secret removed. */
export function postgresText(error: unknown, secrets: PostgresUrl["secrets"]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), wordsOf(error));
}
