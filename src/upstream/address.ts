/** Addresses of servers of the API. */

import { BASE_PATH } from "../model/model.ts";

/** A server's address will not do. The message does not quote it, since it may hold a password. */
export class ApiUrlError extends Error {
  override name = "ApiUrlError";
}

/**
 * Reads the address of a server.
 *
 * @returns where its operations are, without a slash at the end: the base path is added where it is missing
 * @throws {ApiUrlError}
 */
export function readApiUrl(text: string): string {
  if (!/^https?:\/\//i.test(text)) throw new ApiUrlError("must begin with http:// or https://");
  if (!URL.canParse(text)) throw new ApiUrlError("is not a valid URL");
  const { origin, pathname, username, password } = new URL(text);
  if (username !== "" || password !== "") {
    throw new ApiUrlError("must hold no user name or password; --token-file takes a token");
  }
  if (/[?#]/.test(text)) throw new ApiUrlError("must have neither a query nor a fragment");
  const path = pathname.replace(/\/+$/, "");
  return origin + (path.endsWith(BASE_PATH) ? path : path + BASE_PATH);
}
