/** Puts what the benches printed into the document. */

/** What became of a run of a bench. */
export interface Outcome {
  readonly part: string;
  /** As one would type it. */
  readonly command: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
  readonly seconds: number;
  readonly output: string;
  /** Why there is no result, or undefined when there is one. */
  readonly failure: string | undefined;
}

const PLACE = /^<!-- (bench|picture): ([a-z-]+) -->$/gm;

/** Names of the places of a template. */
export function placesOf(template: string, kind: "bench" | "picture"): string[] {
  return [...template.matchAll(PLACE)].filter(([, found]) => found === kind).map(([, , name]) => name!);
}

function fenced(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}

/** How long something took. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** A result with what there is to know of it. Output that is no Markdown stands as it is. */
function section({ command, commit, node, machine, seconds, output, failure }: Outcome): string {
  const about = `\`${command}\`, commit ${commit}, Node ${node}, ${machine}; took ${duration(seconds)}.`;
  if (failure !== undefined) {
    return `${about}\n\n**No result: ${failure}.**${output.trim() === "" ? "" : `\n\n${fenced(output)}`}`;
  }
  return `${about}\n\n${/^\|/m.test(output) ? output.trim() : fenced(output)}`;
}

/**
 * The document.
 *
 * @param pictures paths of those that were drawn, by name
 */
export function assemble(
  template: string,
  outcomes: readonly Outcome[],
  pictures: Readonly<Record<string, { readonly file: string; readonly title: string } | undefined>>,
): string {
  return template.replace(PLACE, (_, kind: string, name: string) => {
    if (kind === "picture") {
      const drawn = pictures[name];
      return drawn === undefined
        ? "(No picture: its figures are missing.)"
        : `![${drawn.title}](${drawn.file})`;
    }
    const own = outcomes.filter(({ part }) => part === name);
    return own.length === 0 ? "(Left out of this run.)" : own.map(section).join("\n\n");
  });
}
