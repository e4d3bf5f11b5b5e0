/** Texts that people wrote, to compare generated ones with: whatever a machine or a checkout has of them. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "./child.ts";

/** What a thing is called, and how it is described. */
export interface Described {
  readonly name: string;
  readonly description: string;
}

/** Texts of one origin. */
export interface Corpus {
  readonly name: string;
  readonly texts: readonly Described[];
}

/** The packages of this checkout: what their authors wrote into README files, without code, at most so many characters. */
function readmes(): Described[] {
  const MOST = 2000;
  const folder = join(ROOT, "node_modules");
  const scoped = readdirSync(folder).filter((name) => name.startsWith("@"));
  const names = [
    ...readdirSync(folder),
    ...scoped.flatMap((scope) => readdirSync(join(folder, scope)).map((name) => join(scope, name))),
  ];
  return names.flatMap((name) => {
    const files = existsSync(join(folder, name, "package.json")) ? readdirSync(join(folder, name)) : [];
    const readme = files.find((file) => /^readme(\.md|\.markdown)?$/i.test(file));
    if (readme === undefined) return [];
    const text = readFileSync(join(folder, name, readme), "utf8");
    return [{ name, description: text.replaceAll(/```[\s\S]*?```/g, "").slice(0, MOST) }];
  });
}

/** Descriptions of Debian's packages that are installed here, and in other languages where apt keeps them. */
function debianPackages(): Described[] {
  const status = "/var/lib/dpkg/status";
  if (!existsSync(status)) return [];
  const found: Described[] = [];
  for (const paragraph of readFileSync(status, "utf8").split("\n\n")) {
    const name = /^Package: (.*)$/m.exec(paragraph)?.[1];
    const text = /^Description: (.*(?:\n .*)*)/m.exec(paragraph)?.[1];
    if (name !== undefined && text !== undefined)
      found.push({ name, description: text.replaceAll("\n .\n", "\n").replaceAll("\n ", " ") });
  }
  return found;
}

type Named = Partial<Record<"name" | "Name" | "description" | "Description", unknown>>;

/**
 * A file of others' texts: JSON or NDJSON with objects, however deep, that have a name and a description.
 */
export function readCorpus(path: string): Corpus {
  const texts: Described[] = [];
  const take = (_key: string, value: unknown): unknown => {
    const { name, Name = name, description, Description = description } = (value ?? {}) as Named;
    if (typeof Name === "string" && typeof Description === "string")
      texts.push({ name: Name, description: Description });
    return value;
  };
  const text = readFileSync(path, "utf8");
  if (path.endsWith(".json")) JSON.parse(text, take);
  else for (const line of text.split("\n")) if (line.trim() !== "") JSON.parse(line, take);
  return { name: basename(path), texts };
}

/** Corpora that are here without looking for them. */
export function localCorpora(): Corpus[] {
  const all = [
    { name: "READMEs in node_modules", texts: readmes() },
    { name: "installed Debian packages", texts: debianPackages() },
  ];
  return all.filter(({ texts }) => texts.length >= 50);
}
