/** The oldest Node that runs the program. */
export declare const OLDEST_NODE: string;
/** Why the program does not run here; an empty string where it does. */
export declare function whyNotHere(versions: Readonly<Record<string, string | undefined>>): string;
/** Whether this is Node, and older than some version. */
export declare function isNodeBefore(
  versions: Readonly<Record<string, string | undefined>>,
  version: string,
): boolean;
