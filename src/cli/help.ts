/** Help texts, made from the tables of commands and settings. */

import { readsVariable, type Setting, settingsOf, variableOf } from "../settings.ts";
import { COMMANDS, type CommandRow } from "./commands.ts";

/** The overview. */
export function overview(): string {
  const lines = COMMANDS.map(({ name, usage, summary }) => `  ${`${name} ${usage}`.padEnd(38)} ${summary}`);
  return [
    "orrery: a fast read-only API server for a virtual-world platform",
    "",
    "Usage: orrery COMMAND [options]",
    "",
    ...lines,
    "",
    "Run orrery COMMAND --help for the options of a command, orrery --version for the version.",
    "",
  ].join("\n");
}

/** How a setting's default or need reads. */
export function defaultText(setting: Setting): string {
  if (setting.required) return "required";
  return setting.default ?? (setting.kind === "flag" ? "off" : "none");
}

/** What stands behind the flag. */
export function valueText({ kind, value, choices }: Setting): string {
  if (kind === "flag") return "[on|off]";
  return choices ? choices.join("|") : (value ?? "");
}

/** Help for one command. */
export function helpFor(row: CommandRow): string {
  const settings = settingsOf(row.name);
  const lines = settings.map((setting) => {
    const left = `  --${setting.flag} ${valueText(setting)}`;
    const variable = readsVariable(row.name, setting.flag) ? `; ${variableOf(setting.flag)}` : "";
    const right = `${setting.meaning} [${defaultText(setting)}${variable}]`;
    return left.length < 36 ? `${left.padEnd(36)}${right}` : `${left}\n${" ".repeat(36)}${right}`;
  });
  return [
    row.summary,
    "",
    `Usage: orrery ${row.name}${row.usage === "" ? "" : ` ${row.usage}`}${settings.length > 0 ? " [options]" : ""}`,
    ...(lines.length > 0 ? ["", ...lines] : []),
    "",
  ].join("\n");
}
