// The first import of all entries but the command line: throws where the library does not run.
import { whyNotHere } from "./runtime.mjs";

const why = whyNotHere(typeof process === "object" ? process.versions : {});
if (why !== "") throw new Error(`orrery ${why}`);

/** Always true: on other runtimes the import throws. */
export const IS_SUPPORTED = true;
