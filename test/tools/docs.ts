/** The README's tables, made from code. `npm run docs` writes them; a test checks them. */

import { readFileSync, writeFileSync } from "node:fs";
import { defaultText, valueText } from "../../src/cli/help.ts";
import { FAULTS } from "../../src/fault.ts";
import { ROUTES } from "../../src/routes.ts";
import { settingsOf, variableOf } from "../../src/settings.ts";

export const README = new URL("../../README.md", import.meta.url);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((c) => c.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** Every generated section by name. */
export const SECTIONS: Readonly<Record<string, () => string>> = {
  routes: () =>
    table(
      ["Path", "Scope", "Parameters", "Answers"],
      ROUTES.map(({ path, scope, parameters, summary }) => [
        `\`${path}\``,
        scope === null ? "any valid key" : `\`${scope}\``,
        parameters.map((name) => `\`${name}\``).join(" ") || "–",
        summary,
      ]),
    ),
  faults: () =>
    table(
      ["Status", "`error`", "When"],
      Object.values(FAULTS).map(({ status, message, when }) => [String(status), `\`${message}\``, when]),
    ),
  settings: () =>
    table(
      ["Flag", "Variable", "Default", "Meaning"],
      settingsOf("serve").map((setting) => [
        `\`--${setting.flag}${valueText(setting) === "" ? "" : ` ${valueText(setting)}`}\``,
        `\`${variableOf(setting.flag)}\``,
        defaultText(setting),
        setting.meaning,
      ]),
    ),
};

/** The README with every generated section made anew. */
export function withSections(readme: string): string {
  return readme.replace(
    /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_whole, begin: string, name: string, end: string) => {
      const make = SECTIONS[name];
      if (make === undefined) throw new Error(`README has a generated section that nothing makes: ${name}`);
      return `${begin}\n${make()}\n\n${end}`;
    },
  );
}

if (process.argv.includes("--write")) writeFileSync(README, withSections(readFileSync(README, "utf8")));
