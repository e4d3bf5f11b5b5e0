/** A server of the program that `ORRERY_TEST_PROGRAM` names, behind the face of one in this process. */

import type { RunningServer } from "../../src/server/server.ts";
import type { ModelSettings } from "./model.ts";
import { serve } from "./process.ts";

/** Starts it on a snapshot and a keys file. */
export async function startGiven(
  { apiPrefix, cliPrefix, rateLimit, rateWindow, cors }: ModelSettings,
  { snapshot, keys }: { readonly snapshot: string; readonly keys: string },
): Promise<RunningServer> {
  const { url, generation, stop } = await serve(snapshot, keys, [
    ...["--watch", "0", "--search-cache-bytes", "0", "--cors", cors ? "on" : "off"],
    ...["--rate-limit", String(rateLimit), "--rate-window", String(rateWindow)],
    ...["--api-key-prefix", apiPrefix, "--cli-token-prefix", cliPrefix],
  ]);
  return {
    adminUrl: undefined,
    pagesUrl: undefined,
    url,
    generation: () => generation,
    reload: async () => {},
    stop,
  };
}
