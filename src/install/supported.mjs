// Imported before all else by what is no command line: throws where the library does not run.
import { whyNotHere } from "./runtime.mjs";

const why = whyNotHere(typeof process === "object" ? process.versions : {});
if (why !== "") throw new Error(`orrery ${why}`);

/** Where this can be read, it is so. */
export const IS_SUPPORTED = true;
