/** The types of a command, of its input and output, and of the program. */

import type { Tables } from "../observe/events.ts";
import type { Features } from "../server/features.ts";
import type { OpenAdmin } from "../server/server.ts";
import type { Command, Setting } from "../settings/settings.ts";
import type { Options } from "./options.ts";

export interface CommandIo {
  /** Writable: what is meant for this process alone is removed. */
  readonly environment: Record<string, string | undefined>;
  /** How this program is started: the runtime, its options, and the entry. */
  readonly self: readonly string[];
  /** The first line of standard input. */
  readonly readFirstLine: () => Promise<string>;
  readonly pid: number;
  /** Reads standard input to its end, a terminal to the end of a line; one character per byte. @throws {CommandError} */
  readonly readInput: () => Promise<string>;
  /** Prints to standard output, also when its reader has gone. @throws {CommandError} as on a full disk */
  readonly print: (text: string) => void;
  /** Prints text that must not be lost: rejects with the error of the system, also when its reader has gone. */
  readonly deliver: (text: string) => Promise<void>;
  /** Prints to standard error; a failure is ignored. */
  readonly complain: (text: string) => void;
  /** Whether standard error is a terminal. */
  readonly isTerminal: boolean;
  /** Width of that terminal, in characters. */
  readonly columns?: number | undefined;
  readonly exit: (status: number) => never;
}

export interface CommandRow<C extends string = Command> {
  /** Its words, in order. */
  readonly name: C;
  /** For a feature's command: the core command that it follows in lists. */
  readonly after?: string;
  /** Whether the program itself starts it: no list of commands names it. */
  readonly isInternal?: true;
  /** The words that it takes besides its settings, and the settings that it needs. */
  readonly usage: string;
  readonly summary: string;
  run(options: Options<C & Command>, io: CommandIo, program: Program): Promise<void>;
}

export type CommandRows<C extends string> = readonly { [One in C]: CommandRow<One> }[C][];

/** The parts of the program: the tables of the core and of all features. */
export interface Program {
  readonly settings: readonly Setting[];
  readonly commands: readonly CommandRow[];
  readonly tables: Tables;
  readonly features: Features;
  /** Reads the function that starts the admin listener; undefined if it is off. @param always whether its default is on @param inherited host in place of `--admin` */
  readonly readAdmin?: (
    options: Options<"serve" | "demo">,
    always: boolean,
    inherited?: string,
  ) => Promise<OpenAdmin | undefined>;
}
