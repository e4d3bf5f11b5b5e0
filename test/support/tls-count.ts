/** Counts one request by a server, given the certificates to trust. */

import { counting, endAll } from "./redis.ts";

async function main(): Promise<void> {
  const replica = await counting(process.argv[2]!);
  const { remaining } = await replica.count("a", 5);
  process.stdout.write(`${remaining} ${JSON.stringify(replica.seen)}\n`);
  await endAll();
}

void main();
