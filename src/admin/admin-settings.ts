/** The settings of the listener for operators. */

import { CommandError, type Options, UsageError } from "../cli/options.ts";
import { readToken } from "../files/token-file.ts";
import { AdminListenError, type OpenAdmin } from "../server/admin.ts";
import { SourceError } from "../util/source-error.ts";
import { codeOf, systemErrorText } from "../util/system-error.ts";
import { type AdminAddress, isLoopback, parseAdminAddress } from "./address.ts";
import { type AdminSettings, startAdmin } from "./admin.ts";

async function tokenIn(file: string, name: string): Promise<string> {
  try {
    return await readToken(file, name);
  } catch (error) {
    if (error instanceof SourceError) throw new CommandError(error.message);
    throw error;
  }
}

/**
 * Reads them.
 *
 * @param spare where it listens when nothing is said; off when absent
 * @returns undefined when it is off
 * @throws {UsageError} when an address is none or that of the API, or others could reach it without a token
 * @throws {CommandError} naming setting and file, when there is no token in it
 */
export async function readAdminSettings(
  options: Options<"serve" | "demo">,
  spare?: AdminAddress,
): Promise<AdminSettings | undefined> {
  const text = options.values.admin;
  const name = options.names.admin;
  if (text === undefined ? spare === undefined : text === "off") return undefined;
  const address = text === undefined ? spare : parseAdminAddress(text);
  if (address === undefined) {
    throw new UsageError(`${name}: must be PORT, HOST:PORT, [IPV6]:PORT or off, is ${JSON.stringify(text)}`);
  }
  const { host, port } = options.values;
  if (address.port !== 0 && address.port === port && address.host === host) {
    throw new UsageError(`${name}: ${host} port ${port} is where the API listens; choose another port`);
  }
  const file = options.values.adminTokenFile;
  if (file === undefined && !isLoopback(address.host)) {
    throw new UsageError(
      `${name}: --admin-token-file is required, since others than this machine may reach ${address.host}`,
    );
  }
  const token = file === undefined ? undefined : await tokenIn(file, options.names.adminTokenFile);
  return { address, token };
}

/** Where it listens for a demo; several of them may run at the same time. */
const SPARE = { host: "127.0.0.1", port: 8788, orAnyPort: true } as const;

/** What starts it with settings. */
export function adminAt(settings: AdminSettings): OpenAdmin {
  const { host, port } = settings.address;
  return (given) =>
    startAdmin(settings, given).catch((error: unknown) => {
      const why =
        codeOf(error) === "EADDRINUSE"
          ? "the port is in use; choose another with --admin"
          : (systemErrorText(error) ?? String(error));
      throw new AdminListenError(`cannot listen for --admin on ${host} port ${port}: ${why}`);
    });
}

/** Reads what starts it; see {@link readAdminSettings}. @param always also where nothing is said */
export async function openerOf(
  options: Options<"serve" | "demo">,
  always: boolean,
): Promise<OpenAdmin | undefined> {
  const settings = await readAdminSettings(options, always ? SPARE : undefined);
  return settings && adminAt(settings);
}
