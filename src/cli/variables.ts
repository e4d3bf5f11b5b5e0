/** Environment variables that look like settings and are none. */

import type { Observe } from "../observe/events.ts";
import { readsVariable, type Setting, variableOf } from "../settings/settings.ts";
import { nearest } from "../util/nearest.ts";
import type { Environment } from "./options.ts";

/** What the variables of all settings begin with. */
const PREFIX = "ORRERY_";

/** Every variable that some command reads. */
function knownOf(settings: readonly Setting[]): string[] {
  return settings
    .filter(({ flag, commands }) => commands.some((command) => readsVariable(command, flag)))
    .map(({ flag }) => variableOf(flag));
}

/**
 * Reports each variable that no command reads, with the one that may be meant: a name that was mistyped would otherwise
 * leave its setting at the default without a word. Empty variables count as absent.
 */
export function reportUnknownVariables(
  environment: Environment,
  settings: readonly Setting[],
  observe: Observe,
): void {
  const known = knownOf(settings);
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || !value || known.includes(variable)) continue;
    // Compared without what all have in common, which would make everything alike.
    const meant = nearest(
      variable.slice(PREFIX.length),
      known.map((name) => name.slice(PREFIX.length)),
    );
    observe({
      kind: "variable-unknown",
      variable,
      ...(meant === undefined ? {} : { meant: PREFIX + meant }),
    });
  }
}
