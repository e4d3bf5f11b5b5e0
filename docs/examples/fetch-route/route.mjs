// app/api/public/v1/[...path]/route.mjs of a framework with fetch handlers, such as Next.
import { openOrrery } from "orrery";
import { options } from "../options.mjs";

const orrery = await openOrrery(options);
export const GET = (request) => orrery.fetch(request);
export const HEAD = GET;
export const OPTIONS = GET;
