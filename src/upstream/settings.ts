/** Settings of commands that send requests to another server, and the check of its URL. */

/** The problem with a URL, or undefined. Does not quote the URL, which may hold a password. @param tokenName the setting of the token */
export function problemWithUrl(text: string, tokenName: string): string | undefined {
  if (!/^https?:\/\//i.test(text)) return "must begin with http:// or https://";
  if (!URL.canParse(text)) return "is not a valid URL";
  const { username, password } = new URL(text);
  if (username !== "" || password !== "") {
    return `must hold no user name or password; ${tokenName} takes a token`;
  }
  return /[?#]/.test(text) ? "must have neither a query nor a fragment" : undefined;
}

/** The server's URL; each command adds its own flag. */
export const OTHER_SERVER = {
  kind: "text",
  value: "URL",
  required: true,
  meaning: "The other server, such as `https://example.org`; `/api/public/v1` is added where it is missing.",
} as const;

export const TOKEN_FILE = {
  flag: "token-file",
  kind: "text",
  value: "FILE",
  required: true,
  meaning: "File with an API key or CLI token of the other server.",
} as const;

export const REQUESTS_PER_HOUR = {
  flag: "requests-per-hour",
  kind: "integer",
  value: "N",
  min: 1,
  max: 1_000_000_000,
  meaning:
    "Most requests in any hour, beside the limit that the other server announces. Default: that limit alone.",
} as const;
