/** Help texts, made from the tables of commands and settings. */

import { readsVariable, type Setting, settingsOf, variableOf } from "../settings/settings.ts";
import type { CommandRow } from "./command.ts";

export function overview(commands: readonly CommandRow[]): string {
  const listed = commands.filter(({ isInternal }) => !isInternal);
  const rows = [...listed, { name: "help", usage: "COMMAND", summary: "Show the options of a command." }];
  const lines = rows.map(({ name, usage, summary }) => `  ${`${name} ${usage}`.padEnd(38)} ${summary}`);
  return [
    "orrery: a fast read-only API server for a virtual-world platform",
    "",
    "Usage: orrery COMMAND [options]",
    "",
    ...lines,
    "",
    "orrery COMMAND --help shows them too, orrery --version the version.",
    "",
  ].join("\n");
}

/** The text of a setting's default, or `required`. */
export function defaultText(setting: Setting): string {
  if (setting.required) return "required";
  return setting.default ?? (setting.kind === "flag" ? "off" : "none");
}

/** The placeholder after the flag. */
export function valueText({ kind, value, choices }: Setting): string {
  if (kind === "flag") return "[on|off]";
  return value ?? choices?.join("|") ?? "";
}

/** Width of help texts, and the column at which the meanings of options begin. */
const WIDTH = 100;
const INDENT = 36;

/** Lines of a text that fit after the indent; a longer word has a line of its own. */
const LINES = new RegExp(`\\S.{0,${WIDTH - INDENT - 1}}(?!\\S)|\\S+`, "g");

function optionLines(command: string, setting: Setting): string {
  const left = `  --${setting.flag} ${valueText(setting)}`;
  // A setting without a default says in its meaning what happens without it.
  const isPlain = setting.required || setting.default !== undefined || setting.kind === "flag";
  const notes = [
    ...(isPlain ? [defaultText(setting)] : []),
    ...(readsVariable(command, setting.flag) ? [variableOf(setting.flag)] : []),
  ];
  // Backticks are for the documents.
  const meaning = setting.meaning.replaceAll("`", "");
  const right = (notes.length > 0 ? `${meaning} [${notes.join("; ")}]` : meaning).match(LINES)!;
  const first = left.length < INDENT ? [`${left.padEnd(INDENT)}${right.shift()!}`] : [left];
  return [...first, ...right.map((line) => " ".repeat(INDENT) + line)].join("\n");
}

/** Help for one command. @param table the settings of all commands */
export function helpFor(row: CommandRow, table: readonly Setting[]): string {
  const settings = settingsOf(table, row.name);
  const lines = settings.map((setting) => optionLines(row.name, setting));
  return [
    row.summary,
    "",
    `Usage: orrery ${row.name}${row.usage === "" ? "" : ` ${row.usage}`}${settings.length > 0 ? " [options]" : ""}`,
    ...(lines.length > 0 ? ["", ...lines] : []),
    "",
  ].join("\n");
}
