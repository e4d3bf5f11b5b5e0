/** What goes wrong with a PostgreSQL server, in one line that holds no password. */

import { codeOf, systemErrorText } from "../../util/system-error.ts";

/** PostgreSQL cannot be asked, or has refused: one clear line. Worth another try later. */
export class PostgresError extends Error {
  override name = "PostgresError";
}

/** Errors of which the server's words are not enough, by what their message says. */
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

/** Codes of OpenSSL where a server's certificate is not trusted. */
const CERTIFICATE = /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT)/;

/** What servers and libraries may quote that must not be seen. */
export type Secrets = readonly string[];

/** A text without any of the secrets. */
function withoutSecrets(text: string, secrets: Secrets): string {
  return secrets.reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, "***")), text);
}

function wordsOf(error: unknown): string {
  // Every address of a host was tried.
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

/** An error of the server, the network or the library as one line. */
export function postgresText(error: unknown, secrets: Secrets): string {
  return withoutSecrets(wordsOf(error), secrets);
}
