/** Serving sets of pages beside the API: the interface, reading a set, and the choice of an encoding. */

import { pagesText } from "../../install/package.ts";
import { type Ask, listElements, type Reply } from "../../model/message.ts";
import type { Store } from "../../store/generation.ts";
import type { PageFile, PagesSource } from "./file.ts";

export interface PageServer {
  /** Path of the page to which people are led. */
  readonly home: string;
  /** Whether a path may be one of the pages. */
  readonly mayHold: (path: string) => boolean;
  /**
   * Answers a request for a path; undefined when there is no such page. Answers at once, since a later answer takes a
   * write of its own; only the first requests wait until the pages are read, and the OpenAPI document is made. Rejects when
   * they cannot be read. @param store what is served, for examples
   */
  readonly answer: (ask: Ask, path: string, store: Store) => Reply | undefined | Promise<Reply | undefined>;
}

/** Set by the build, which drops the other branch. */
declare const IS_BUILT: boolean | undefined;

/** Reads all files of a set, in no order. Without a build, which has made them, they are made. */
export async function readPages(source: PagesSource): Promise<readonly PageFile[]> {
  if (typeof IS_BUILT === "undefined") return await (await import("./make.ts")).makePages(source);
  return JSON.parse(pagesText(source.name)) as PageFile[];
}

/** The first weight among the parameters of an element; the group is absent if it is no number from 0 to 1. */
const WEIGHT = /;\s*q=(?:(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$))?/i;

/** No client needs more; the rest of a longer header would cost more than the answer. */
const MOST_READ = 1024;

/** The weights, 0 to 1, in a header such as `Accept` (RFC 9110, 12.4.2), by lower-case name; the first of a name counts. */
export function weightsIn(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const element of listElements(header.slice(0, MOST_READ))) {
    const name = element.split(";", 1)[0]!.trim().toLowerCase();
    const weight = WEIGHT.exec(element);
    if (!weights.has(name)) weights.set(name, weight === null ? 1 : Number(weight[1] ?? 0));
  }
  return weights;
}

/** Whether to send gzip (RFC 9110, 12.5.3): if it is acceptable, and weighs no less than no encoding. */
export function takesGzip(headers: Ask["headers"]): boolean {
  const weights = weightsIn(headers?.get("accept-encoding") ?? "");
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  return gzip > 0 && gzip >= (weights.get("identity") ?? 0);
}
