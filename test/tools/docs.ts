/** The documents' tables, made from code. `npm run docs` writes them; a test checks them. */

import { readFileSync, writeFileSync } from "node:fs";
import { ROUTES } from "../../src/api/routes.ts";
import { defaultText, valueText } from "../../src/cli/help.ts";
import { PROGRAM } from "../../src/features.ts";
import { FAULTS } from "../../src/model/fault.ts";
import { FIELDS, type FieldType, RESOURCES, TABLES } from "../../src/model/schema.ts";
import type { CountedMetric, EventRow } from "../../src/observe/events.ts";
import type { Metric } from "../../src/observe/metrics/table.ts";
import { optionRows } from "../../src/server/open-options.ts";
import { type Command, nameOf, type Setting, settingsOf, variableOf } from "../../src/settings/settings.ts";
import { DEFAULT_QUERIES } from "../../src/sources/postgres/queries.ts";
import { EXAMPLES_FILE, makeExamples } from "./examples.ts";

const { events: EVENTS, metrics: METRICS } = PROGRAM.tables;

/** Documents with generated sections, by their paths from the root. */
export const GENERATED: readonly string[] = [
  "docs/operating.md",
  "docs/http.md",
  "docs/embedding.md",
  "docs/snapshots.md",
  "docs/metrics.md",
];

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((c) => c.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function flagCell(setting: Setting): string {
  const value = valueText(setting);
  return `\`--${setting.flag}${value === "" ? "" : ` ${value}`}\``;
}

/** Default and meaning of a setting. A default that is no value stands in words at the end of the meaning. */
function defaultAndMeaning(setting: Setting): [string, string] {
  const [, meaning, words] = /^(.*?)(?: Default: (.*)\.)?$/.exec(setting.meaning)!;
  return [words ?? defaultText(setting), meaning!];
}

function optionsTable(command: Command): string {
  return table(
    ["Option", "Default", "Meaning"],
    settingsOf(PROGRAM.settings, command).map((setting) => [
      flagCell(setting),
      ...defaultAndMeaning(setting),
    ]),
  );
}

/** The row of a library option that is also a setting of the server. */
function settingOption(setting: Setting): readonly string[] {
  const name = nameOf(setting.flag);
  const [text, meaning] = defaultAndMeaning(setting);
  if (setting.default === undefined && setting.kind === "text") return [`\`${name}\``, text, meaning];
  const values: Partial<Record<Setting["kind"], string>> = {
    flag: setting.choices?.includes(text) ? `"${text}"` : String(text === "on"),
    text: `"${text}"`,
  };
  return [`\`${name}\``, `\`${values[setting.kind] ?? text}\``, meaning];
}

const TYPE_WORDS: Readonly<Record<FieldType, string>> = {
  id: "UUID",
  text: "text",
  boolean: "boolean",
  count: "whole number",
  time: "time",
};

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
  events: () =>
    table(
      ["`event`", "Level", "Counted by", "Meaning"],
      Object.entries<EventRow<never>>(EVENTS).map(([kind, { level, counts = {}, meaning }]) => [
        `\`${kind}\``,
        level,
        (Object.keys(counts) as CountedMetric[]).map((name) => `\`${METRICS[name].name}\``).join(" ") || "–",
        meaning,
      ]),
    ),
  metrics: () =>
    table(
      ["Metric", "Type", "Labels", "Tells"],
      Object.values<Metric>(METRICS).map(({ name, type, labels = [], help }) => [
        `\`${name}\``,
        type,
        labels.map((label) => `\`${label}\``).join(" ") || "–",
        help,
      ]),
    ),
  rows: () =>
    table(
      ["File", "Fields"],
      TABLES.map((name) => [
        `\`${name}.ndjson\``,
        FIELDS[name]
          .map((field) => `\`${field.name}\`${field.absent === undefined ? "" : " (may be null)"}`)
          .join(", "),
      ]),
    ),
  fields: () =>
    table(
      ["Resource", "Field", "Type", "Meaning"],
      Object.values(RESOURCES)
        // A found world has fields of a world.
        .filter(({ title }) => title !== "FoundWorld")
        .flatMap(({ title, fields }) =>
          fields.map(({ name, type, absent, meaning }) => {
            const words = `${TYPE_WORDS[type]}${absent === null ? " or null" : ""}`;
            return [title, `\`${name}\``, words, meaning];
          }),
        ),
    ),
  faults: () =>
    table(
      ["Status", "`error`", "When"],
      Object.values(FAULTS).map(({ status, message, when }) => [String(status), `\`${message}\``, when]),
    ),
  settings: () =>
    table(
      ["Flag", "Variable", "Default", "Meaning"],
      settingsOf(PROGRAM.settings, "serve").map((setting) => [
        flagCell(setting),
        `\`${variableOf(setting.flag)}\``,
        ...defaultAndMeaning(setting),
      ]),
    ),
  export: () => optionsTable("export"),
  queries: () => `\`\`\`json\n${JSON.stringify(DEFAULT_QUERIES, null, 2)}\n\`\`\``,
  options: () =>
    table(
      ["Option", "Default", "Meaning"],
      [
        [
          "`snapshot`",
          "this or `rows`",
          "Directory of the snapshot, or the URL of one, which ends with a slash.",
        ],
        ["`rows`", "none", "The rows themselves, in place of a snapshot."],
        ["`keys`", "required", "A keys file, by its path or a `file:` URL, or an array of keys."],
        ...optionRows(PROGRAM.settings).map(settingOption),
        [
          "`threads`",
          "`true`",
          "Whether snapshots are loaded, and names indexed for `match=similar`, in threads of their own.",
        ],
        ["`observe`", "none", "Receives every event that a server would log."],
      ],
    ),
};

/** A document with every generated section rebuilt. */
export function withSections(text: string): string {
  return text.replace(
    /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_whole, begin: string, name: string, end: string) => {
      const make = SECTIONS[name];
      if (make === undefined) throw new Error(`there is a generated section that nothing makes: ${name}`);
      return `${begin}\n${make()}\n\n${end}`;
    },
  );
}

/** Leaves a file that is right already: a source that is newer than the build would make tests run the sources. */
function write(file: string | URL, change: (before: string) => string): void {
  const before = readFileSync(file, "utf8");
  const made = change(before);
  if (made !== before) writeFileSync(file, made);
}

if (process.argv.includes("--write")) {
  const examples = await makeExamples();
  write(EXAMPLES_FILE, () => examples);
  for (const name of GENERATED) write(new URL(`../../${name}`, import.meta.url), withSections);
}
