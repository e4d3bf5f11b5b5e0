/** The oldest Node that runs the program. */
export declare const OLDEST_NODE: string;
/** Why the program does not run here; an empty string where it does. */
export declare function whyNotHere(versions: Readonly<Record<string, string | undefined>>): string;
