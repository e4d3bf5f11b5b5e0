/** Always true: on other runtimes the import throws. */
export declare const IS_SUPPORTED: boolean;
