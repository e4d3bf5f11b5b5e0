// app/api/public/v1/[[...path]]/route.ts
import { type Observation, type Orrery, openOrrery } from "orrery";

// One for the process: `next dev` evaluates this file again after each edit. New options need a restart.
const shared = globalThis as { orrery?: Promise<Orrery> | undefined };

// Without it a refused snapshot or keys file is silent.
function observe(event: Observation): void {
  if (/-refused$|^defect$/.test(event.kind)) console.error("orrery", event);
}

// Opened by the first request, so that `next build` needs no data; after a failure the next request tries again.
async function answer(request: Request): Promise<Response> {
  shared.orrery ??= openOrrery({ snapshot: process.env.SNAPSHOT!, keys: process.env.KEYS!, observe });
  const opening = shared.orrery;
  const orrery = await opening.catch((error: unknown): undefined => {
    console.error("orrery", error);
    if (shared.orrery === opening) shared.orrery = undefined;
  });
  return orrery?.fetch(request) ?? Response.json({ error: "Service unavailable" }, { status: 503 });
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
