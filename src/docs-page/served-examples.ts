/** The parameters that the reference fills in: rows of the served snapshot, so that a reader's first request finds something. */

import type { User, World } from "../model/model.ts";
import type { Store } from "../store/generation.ts";
import { findId } from "../store/ids.ts";
import { idText, rowObject } from "../store/table.ts";

/** The store that the examples are taken from. */
export type ExampleStore = Pick<Store, "id" | "users" | "worlds" | "instances">;

/** Each is undefined where no row is visible that has it. */
export interface ServedExamples {
  /** Id of the newest world. */
  readonly worlds: string | undefined;
  /** Id of the owner of that world, or of the newest user where that owner is not visible. */
  readonly users: string | undefined;
  readonly instances: string | undefined;
  /** A word of the name of that world. */
  readonly worldsWord: string | undefined;
  /** A word of the name of that user. */
  readonly usersWord: string | undefined;
}

/** The longest run of at most 40 letters, marks and digits in a name; undefined if it has none. */
function wordOf(name: string): string | undefined {
  const words = name.match(/[\p{L}\p{M}\p{N}]{1,40}/gu);
  return words?.reduce((longest, word) => (word.length > longest.length ? word : longest));
}

export function findExamples({ users, worlds, instances }: ExampleStore): ServedExamples {
  const world = worlds.rows > 0 ? rowObject<World>(worlds, 0) : undefined;
  const ownerRow = world === undefined ? -1 : findId(users.ids, world.ownerId);
  const user = users.rows > 0 ? rowObject<User>(users, Math.max(ownerRow, 0)) : undefined;
  return {
    worlds: world?.id,
    users: user?.id,
    instances: instances.rows > 0 ? idText(instances, 0) : undefined,
    worldsWord: world && wordOf(world.name),
    usersWord: user && wordOf(user.displayName),
  };
}

/** The parts of the OpenAPI document that hold examples of parameters. */
interface Documented {
  readonly paths: Readonly<Record<string, { readonly get: { readonly parameters: DocumentedParameter[] } }>>;
}

interface DocumentedParameter {
  readonly name?: string;
  example?: unknown;
}

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
