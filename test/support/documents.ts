/** The documents as tests see them: their code blocks, links and headings. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A fenced block of code. */
export interface Block {
  /** Line of its first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The comment before it: `run` must succeed, `background` must print that it listens and goes on. */
  readonly mark: "run" | "background" | undefined;
}

/** One file of Markdown. */
export interface Document {
  /** Path from the root. */
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

/** Every document that readers are meant to find. */
export const DOCUMENTS: readonly Document[] = [
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"],
  ...inFolder("docs"),
  ...inFolder("deploy"),
  "bench/RESULTS.md",
  "bench/NOTES.md",
].map(read);

/** The document of that name. */
export function documentOf(name: string): Document {
  const found = DOCUMENTS.find((document) => document.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
}

/** Names by which the headings of a document can be linked to. */
export function anchorsOf({ text }: Document): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** A link to a file of ours. */
export interface Link {
  readonly text: string;
  /** Path from the root. */
  readonly path: string;
  readonly anchor: string | undefined;
}

/** The links of a document that stay within the project. */
export function linksOf({ name, text }: Document): Link[] {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) => {
    if (/^[a-z]+:/.test(target!)) return [];
    const [path, anchor] = target!.split("#");
    const from = dirname(join(ROOT, name));
    const file = path === "" ? join(ROOT, name) : join(from, path!);
    return [{ text: target!, path: relative(ROOT, file), anchor }];
  });
}

/** What is wrong with a link, or undefined. */
export function problemWithLink({ path, anchor }: Link): string | undefined {
  if (!existsSync(join(ROOT, path))) return "there is no such file";
  if (anchor === undefined) return undefined;
  return anchorsOf(documentOf(path)).includes(anchor) ? undefined : "there is no such heading";
}

/**
 * The commands of a shell script, each as its words. Enough of a shell for documents: quotes, comments, redirections,
 * subshells and lists; nothing is expanded.
 */
export function commandsOf(script: string): string[][] {
  const commands: string[][] = [[]];
  const joined = script.replaceAll("\\\n", " ");
  const token =
    /\s*(?:(#[^\n]*)|(\d?>>?|<)|([;&|()\n]+)|((?:[^\s;&|()<>"'\\]|\\.|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+))/gy;
  let isTarget = false;
  for (let match = token.exec(joined); match !== null; match = token.exec(joined)) {
    const [whole, comment, redirection, operator, word] = match;
    // A line ends a command, though it is white space as well.
    if (/\n/.test(whole.slice(0, whole.length - (word ?? "").length)) || operator) commands.push([]);
    if (comment !== undefined) continue;
    if (redirection !== undefined) isTarget = true;
    if (word === undefined) continue;
    if (!isTarget) commands.at(-1)!.push(word.replace(/"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'/g, "$1$2"));
    isTarget = false;
  }
  return commands.filter((words) => words.length > 0);
}
