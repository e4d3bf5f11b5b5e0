/** The way to other servers: direct, or through the forward proxies that the environment of the process names. */

import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isNodeBefore } from "../install/runtime.mjs";
import { SourceError } from "../util/source-error.ts";

/** The variables that name a proxy, as curl and others read them; `NO_PROXY` lists exceptions. */
const NAMES = ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

/** Whether the environment names a proxy. */
export function hasProxy(environment: NodeJS.ProcessEnv = process.env): boolean {
  return NAMES.some((name) => (environment[name] ?? "") !== "");
}

/** The problem with the URL of a proxy, or undefined. Does not quote the URL, which may hold a password. */
function problemWithProxy(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text)) return "must begin with http:// or https://";
  try {
    const { username, password } = new URL(text);
    for (const part of [username, password]) decodeURIComponent(part);
    return undefined;
  } catch {
    return "is not a valid URL";
  }
}

/** @throws {SourceError} naming the variable */
function checkProxies(): void {
  for (const name of NAMES) {
    const problem = process.env[name] ? problemWithProxy(process.env[name]) : undefined;
    if (problem !== undefined) throw new SourceError(`${name} ${problem}`, { isLasting: true });
  }
}

/** Whether the agents of the runtime read the variables: since Node 24.5, and 22.21 in its line. */
function agentsKnowProxies({ node }: { readonly node: string } = process.versions): boolean {
  return !isNodeBefore({ node }, node.startsWith("22.") ? "22.21" : "24.5");
}

async function makeAgents() {
  checkProxies();
  const keepAlive = true;
  const proxyEnv = hasProxy() ? process.env : undefined;
  if (proxyEnv === undefined || agentsKnowProxies()) {
    const options = { keepAlive, ...(proxyEnv && { proxyEnv }) };
    return { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) };
  }
  throw new SourceError("a connection through HTTPS_PROXY or HTTP_PROXY needs Node 24", { isLasting: true });
}

let agents: ReturnType<typeof makeAgents> | undefined;

/** The agent for a URL. All requests of the process share it. @throws {SourceError} when a package is missing */
export async function agentFor(url: URL): Promise<HttpAgent> {
  agents ??= makeAgents();
  return (await agents)[url.protocol as "http:" | "https:"];
}
