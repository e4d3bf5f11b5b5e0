/** The public address of the API in its documents: an origin, with the prefix of a proxy where there is one. */

import { BASE_PATH } from "../model/model.ts";

/** Whether a text is an http or https URL that can stand in a page and in JSON as it is. */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text) && !/[\s<>"]/.test(text);
}

/** What is wrong with a public address; undefined if it can stand in the documents. */
export function problemWithPublicUrl(text: string): string | undefined {
  if (!isHttpUrl(text)) return "must be an http or https URL";
  const { username, password, pathname } = new URL(text);
  if (username !== "" || password !== "" || /[?#]/.test(text))
    return "must have no user, no query and no fragment: readers see it";
  if (pathname.replace(/\/$/, "").endsWith(BASE_PATH))
    return `must end before ${BASE_PATH}, which the documents add`;
  return undefined;
}

/** The servers of the OpenAPI document. @param publicUrl relative to the document when absent, so that the prefix of a proxy stays */
export function serversOf(publicUrl: string | undefined): readonly { url: string; description: string }[] {
  const url = publicUrl === undefined ? BASE_PATH.slice(1) : publicUrl.replace(/\/*$/, "") + BASE_PATH;
  return [{ url, description: "This server" }];
}
