// app/api/public/v1/[...path]/route.ts
import { type Orrery, openOrrery } from "orrery";

// One for the process: `next dev` evaluates this file again after each edit.
const shared = globalThis as { orrery?: Promise<Orrery> | undefined };

// Opened by the first request, so that `next build` needs no data.
async function answer(request: Request): Promise<Response> {
  shared.orrery ??= openOrrery({ snapshot: process.env.SNAPSHOT!, keys: process.env.KEYS! });
  shared.orrery.catch(() => (shared.orrery = undefined));
  return (await shared.orrery).fetch(request);
}

export { answer as GET, answer as HEAD, answer as OPTIONS };
