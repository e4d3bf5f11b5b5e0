/** The parameters that the reference fills in: rows of the served snapshot, so that a reader's first request finds something. */

import type { User, World } from "../model/model.ts";
import type { Store } from "../store/generation.ts";
import { findId } from "../store/ids.ts";
import { idText, rowObject } from "../store/table.ts";

/** Each is undefined where no row is visible that has it. */
export interface ServedExamples {
  /** Id of the newest world. */
  readonly worlds: string | undefined;
  /** Id of the owner of that world, or of the newest user where that owner is not visible. */
  readonly users: string | undefined;
  readonly instances: string | undefined;
  /** A word of letters in the name of one of the newest worlds. */
  readonly worldsWord: string | undefined;
  /** The same of users. */
  readonly usersWord: string | undefined;
}

/** A word in Latin script is shown on every machine, whatever its fonts. */
const LATIN = /[\p{Script=Latin}\p{M}]{3,40}/gu;
const LETTERS = /[\p{L}\p{M}\p{N}]{1,40}/gu;
/** Rows among which a Latin word is looked for. */
const MOST_LOOKED_AT = 100;

/** The longest word of the first name that has one in Latin script, else of the first name that has any. */
function wordOf(names: readonly string[]): string | undefined {
  for (const pattern of [LATIN, LETTERS]) {
    for (const name of names) {
      const words = name.match(pattern);
      if (words) return words.reduce((longest, word) => (word.length > longest.length ? word : longest));
    }
  }
  return undefined;
}

/** The names of the newest rows, that of one row first. */
function namesOf(table: Store["users"] | Store["worlds"], first: number): string[] {
  const rows = [first, ...Array(Math.min(table.rows, MOST_LOOKED_AT)).keys()];
  return rows.map((row) => {
    const { name, displayName } = rowObject<Partial<World & User>>(table, row);
    return name ?? displayName ?? "";
  });
}

export function findExamples({ users, worlds, instances }: Store): ServedExamples {
  const world = worlds.rows > 0 ? rowObject<World>(worlds, 0) : undefined;
  const ownerRow = world === undefined ? -1 : findId(users.ids, world.ownerId);
  const userRow = Math.max(ownerRow, 0);
  const user = users.rows > 0 ? rowObject<User>(users, userRow) : undefined;
  return {
    worlds: world?.id,
    users: user?.id,
    instances: instances.rows > 0 ? idText(instances, 0) : undefined,
    worldsWord: world && wordOf(namesOf(worlds, 0)),
    usersWord: user && wordOf(namesOf(users, userRow)),
  };
}

/** The parts of the OpenAPI document that hold examples of parameters. */
interface Documented {
  readonly paths: Readonly<Record<string, { readonly get: { readonly parameters: Parameter[] } }>>;
}

type Parameter = { readonly name?: string; example?: unknown };

/** Replaces the examples of ids and searched texts in an OpenAPI document; one that is undefined leaves none. */
export function fillExamples({ paths }: Documented, examples: ServedExamples): void {
  for (const [path, { get }] of Object.entries(paths)) {
    const resource = path.split("/")[1] as "worlds" | "users" | "instances";
    for (const parameter of get.parameters) {
      if (parameter.name === "id") parameter.example = examples[resource];
      if (parameter.name === "q")
        parameter.example = examples[resource === "users" ? "usersWord" : "worldsWord"];
    }
  }
}
