/** The agents that connect to a host: directly, or through the forward proxies that the environment of the process names. */

import { type Agent, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isNodeBefore } from "../../install/runtime.mjs";
import { importFailure } from "../../util/optional-package.ts";
import { SourceError } from "../../util/source-error.ts";

/** The variables that name a proxy, as curl and others read them; `NO_PROXY` lists exceptions. */
const NAMES = ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

function isProxyUrl(text: string): boolean {
  try {
    // Agents decode its user name and password.
    return /^https?:/.test(decodeURIComponent(new URL(text).href));
  } catch {
    return false;
  }
}

/**
 * The agents by protocol.
 *
 * @param signal ends their connections
 * @throws {SourceError} when a package is missing, or for a wrong URL of a proxy, without that URL, which may hold a password
 */
export async function openAgents(signal: AbortSignal): Promise<Record<string, Agent>> {
  const names = NAMES.filter((name) => process.env[name]);
  const wrong = names.find((name) => !isProxyUrl(process.env[name]!));
  if (wrong !== undefined) throw new SourceError(`${wrong} must be an http:// or https:// URL`);
  const { node } = process.versions;
  if (names.length === 0 || !isNodeBefore({ node }, node.startsWith("22.") ? "22.21" : "24.5")) {
    const options = { keepAlive: true, signal, ...(names.length > 0 && { proxyEnv: process.env }) };
    return { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) };
  }
  try {
    const { ProxyAgent } = await import("proxy-agent");
    // A connection that it keeps would send the next request by http: as if the proxy were the server.
    return { "http:": new ProxyAgent({ signal }), "https:": new ProxyAgent({ keepAlive: true, signal }) };
  } catch (error) {
    const fail = (what: string) => new SourceError(`HTTPS_PROXY or HTTP_PROXY ${what}, or use Node 24`);
    throw importFailure(["proxy-agent"], error, fail);
  }
}
