/** Where this can be read, it is so. */
export declare const IS_SUPPORTED: boolean;
