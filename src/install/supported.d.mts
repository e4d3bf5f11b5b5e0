export declare const IS_SUPPORTED: boolean;
