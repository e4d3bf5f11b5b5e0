/** Settings of the admin listener, and whether it is on; its other modules are loaded on demand. */

import type { Options } from "../cli/options.ts";
import type { OpenAdmin } from "../server/server.ts";
import type { Setting } from "../settings/settings.ts";

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i;

export const ADMIN_SETTINGS = [
  {
    flag: "admin",
    after: "share-port",
    kind: "text",
    value: "[HOST:]PORT|unix:/PATH|off",
    meaning:
      "Listen there for operators: health checks, metrics, a dashboard and more (docs/admin.md). HOST is 127.0.0.1 when " +
      "absent. Default: off; 8788 for `demo`.",
  },
  {
    flag: "admin-token-file",
    after: "share-port",
    kind: "text",
    needs: "admin",
    value: "FILE",
    meaning: "File with a bearer token that `--admin` asks for; required if other machines can reach it.",
  },
  {
    flag: "admin-names",
    after: "share-port",
    kind: "list",
    needs: "admin",
    value: "LIST",
    problem: (text) => (HOST_NAME.test(text) ? undefined : "must be a host name without a port"),
    meaning:
      "Host names, joined by commas, by which others ask the listener of `--admin`, such as that of a service in Kubernetes. Default: none.",
  },
  {
    flag: "max-data-age",
    after: "share-port",
    kind: "number",
    needs: "admin",
    value: "SECONDS",
    default: "0",
    max: 31_536_000,
    meaning:
      "Age of the data at which `/readyz` of `--admin` answers 503, counted from `createdAt` in the snapshot's manifest; " +
      "0 for never.",
  },
] as const satisfies readonly Setting[];

/**
 * Returns the function that starts the listener; undefined if it is off. @param always whether it is on by default
 * @param inherited host of a socket that was handed over, in place of `--admin`
 * @throws {UsageError} or {@link SourceError} naming the setting
 */
export async function readAdmin(
  options: Options<"serve" | "demo">,
  always: boolean,
  inherited?: string,
): Promise<OpenAdmin | undefined> {
  if (options.values.admin === undefined && !always && inherited === undefined) return undefined;
  // Imported on demand: most of it serves operators alone.
  const { adminAt, readAdminSettings } = await import("./admin.ts");
  const settings = await readAdminSettings(options, inherited);
  return settings && adminAt(settings);
}
