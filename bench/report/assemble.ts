/** Inserts the output of the benches into the document. */

/** The result of a part. */
export interface Result {
  readonly part: string;
  /** The command line as typed in a shell. */
  readonly command: string;
  readonly seconds: number;
  readonly output: string;
}

/** Circumstances common to all results of a run. */
export interface Circumstances {
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
}

const PLACE = /^<!-- (bench|picture|run|summary)(?:: ([a-z-]+))? -->$/gm;

/** Names of the parts that a template has a place for. */
export function placesOf(template: string): string[] {
  return [...template.matchAll(PLACE)].flatMap(([, kind, name]) => (kind === "bench" ? [name!] : []));
}

/** A duration as text. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function section({ command, seconds, output }: Result): string {
  return `\`${command}\`; took ${duration(seconds)}.\n\n${output.trim()}`;
}

/**
 * Fills the template.
 *
 * @param drawn Markdown of the chart and of the summary
 * @throws {Error} for a place without a result
 */
export function assemble(
  template: string,
  results: readonly Result[],
  { commit, node, machine }: Circumstances,
  drawn: { readonly picture: string; readonly summary: string },
): string {
  return template.replace(PLACE, (_, kind: string, name: string) => {
    if (kind === "picture" || kind === "summary") return drawn[kind];
    if (kind === "run") {
      const total = results.reduce((sum, { seconds }) => sum + seconds, 0);
      return `Commit ${commit}, Node ${node}, ${machine}; ${duration(total)} in all.`;
    }
    const result = results.find(({ part }) => part === name);
    if (result === undefined) throw new Error(`${name} has no result`);
    return section(result);
  });
}
