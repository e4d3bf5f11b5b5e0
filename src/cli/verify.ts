import type { World } from "./command.ts";
import type { Options } from "./options.ts";
export async function verify(_options: Options, _world: World): Promise<void> {}
