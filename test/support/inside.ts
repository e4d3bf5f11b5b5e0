/** Commands run without a process of their own. */

import assert from "node:assert/strict";
import type { CommandIo } from "../../src/cli/command.ts";
import { PROGRAM } from "../../src/features.ts";
import { optionsOf } from "./options.ts";

/** No environment, input and terminal; outputs are lost, and the process must not end. */
export const NO_IO: CommandIo = {
  environment: {},
  pid: 1,
  self: [],
  readFirstLine: async () => "",
  readInput: async () => "",
  print: () => true,
  deliver: async () => {},
  complain: () => {},
  isTerminal: false,
  exit: () => assert.fail("exited"),
};

/** Runs a command of two words inside this process. @param more replaces a part of its io */
export async function runInside(args: readonly string[], more: Partial<CommandIo> = {}) {
  const said = { stdout: "", stderr: "" };
  const print = (text: string): boolean => {
    said.stdout += text;
    return true;
  };
  const io: CommandIo = {
    ...NO_IO,
    print,
    deliver: async (text) => void print(text),
    complain: (text) => {
      said.stderr += text;
    },
    ...more,
  };
  const words = args.slice(0, 2).join(" ");
  const row = PROGRAM.commands.find(({ name }) => name === words)!;
  await row.run(optionsOf(row.name, args.slice(2)), io, PROGRAM);
  return said;
}
