/** The documents with their code blocks. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./program.ts";

export interface Block {
  /** Number of its first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The comment before it: `run` must succeed, `background` must print that it listens, and keeps running. */
  readonly mark: "run" | "background" | undefined;
}

export interface Document {
  readonly name: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

function blocksOf(text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const language = /^```(\w*)$/.exec(lines[at]!)?.[1];
    if (language === undefined) continue;
    const end = lines.indexOf("```", at + 1);
    if (end < 0) throw new Error(`line ${at + 1}: a block of code does not end`);
    const mark = /^<!-- (run|background) -->$/.exec(lines[at - 2] ?? "")?.[1] as Block["mark"];
    blocks.push({ line: at + 2, language, code: `${lines.slice(at + 1, end).join("\n")}\n`, mark });
    at = end;
  }
  return blocks;
}

function read(name: string): Document {
  const text = readFileSync(join(ROOT, name), "utf8");
  return { name, text, blocks: blocksOf(text) };
}

function inFolder(folder: string): string[] {
  return readdirSync(join(ROOT, folder)).flatMap((name) =>
    name.endsWith(".md") ? [join(folder, name)] : [],
  );
}

export const DOCUMENTS: readonly Document[] = [
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"],
  ...inFolder("docs"),
  ...inFolder("deploy"),
  "bench/RESULTS.md",
  "bench/NOTES.md",
].map(read);

export function documentOf(name: string): Document {
  const found = DOCUMENTS.find((document) => document.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}
