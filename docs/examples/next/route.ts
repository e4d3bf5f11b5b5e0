// app/api/public/v1/[[...path]]/route.ts
import { type Observation, type Orrery, openOrrery } from "orrery";

// One for the process: `next dev` evaluates this file again after each edit. New options need a restart.
const shared = globalThis as { orrery?: Promise<Orrery> | undefined };

function observe(event: Observation): void {
  if (event.kind === "snapshot-refused") console.error("orrery: snapshot refused", event.problems);
  if (event.kind === "keys-refused") console.error("orrery: keys refused", event.problem);
  if (event.kind === "defect") console.error("orrery", event.error);
}

// Opened by the first request, so that `next build` needs no data. A failed one is tried again by the next request.
function opened(): Promise<Orrery> {
  if (shared.orrery === undefined) {
    shared.orrery = openOrrery({ snapshot: process.env.SNAPSHOT!, keys: process.env.KEYS!, observe });
    shared.orrery.catch((error: unknown) => {
      console.error("orrery", error);
      shared.orrery = undefined;
    });
  }
  return shared.orrery;
}

async function answer(request: Request): Promise<Response> {
  const orrery = await opened().catch(() => undefined);
  if (orrery === undefined) return Response.json({ error: "Service unavailable" }, { status: 503 });
  return orrery.fetch(request);
}

// Refused with a 405 that names the methods.
export {
  answer as GET,
  answer as HEAD,
  answer as OPTIONS,
  answer as DELETE,
  answer as PATCH,
  answer as POST,
  answer as PUT,
};
