/** The settings of the listener for operators. */

import { SERVING, type Setting } from "../settings/settings.ts";

/** Their rows. */
export const ADMIN_SETTINGS = [
  {
    flag: "admin",
    after: "share-port",
    kind: "text",
    value: "[HOST:]PORT|off",
    meaning:
      "Listen there for operators: health checks, metrics, a dashboard and more (docs/admin.md). HOST is 127.0.0.1 when " +
      "absent. Default: off; 8788 for `demo`.",
    commands: SERVING,
  },
  {
    flag: "admin-token-file",
    after: "share-port",
    kind: "text",
    needs: "admin",
    path: "read",
    value: "FILE",
    meaning:
      "File with a bearer token that `--admin` asks for; required where others than this machine can reach it.",
    commands: SERVING,
  },
  {
    flag: "max-age",
    after: "share-port",
    kind: "number",
    needs: "admin",
    value: "SECONDS",
    default: "0",
    min: 0,
    max: 31_536_000,
    meaning:
      "Age of the snapshot at which `/readyz` of `--admin` answers 503, counted from the last check that found it current; " +
      "0 for never.",
    commands: SERVING,
  },
  {
    flag: "max-data-age",
    after: "share-port",
    kind: "number",
    needs: "admin",
    value: "SECONDS",
    default: "0",
    min: 0,
    max: 31_536_000,
    meaning:
      "Age of the data at which `/readyz` of `--admin` answers 503, counted from `createdAt` in the snapshot's manifest; " +
      "0 for never.",
    commands: SERVING,
  },
] as const satisfies readonly Setting[];
