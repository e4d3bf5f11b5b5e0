type Versions = Readonly<Record<string, string | undefined>>;
export declare const OLDEST_NODE: string;
export declare function whyNotHere(versions: Versions): string;
export declare function isNodeBefore(versions: Versions, version: string): boolean;
