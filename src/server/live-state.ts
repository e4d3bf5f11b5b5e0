/** The two parts of the state that change while the server runs, keys and generation: each one reference, replaced whole. */

import type { State } from "../api/answer.ts";
import { KeyRing } from "../auth/keys.ts";
import type { Generation } from "../store/generation.ts";

export interface Changes {
  readonly onKeys: (keys: KeyRing, previous: KeyRing) => void;
  readonly onGeneration: () => void;
}

export class LiveState {
  keys = new KeyRing();
  /** Undefined until the first one is loaded. */
  generation: Generation | undefined;
  /** Composed of the first keys and the first generation. */
  state: State | undefined;
  /** Tells other threads of changes. */
  changes: Changes | undefined;

  setKeys(keys: KeyRing): void {
    const previous = this.keys;
    this.keys = keys;
    if (this.state !== undefined) this.state.gate.keys = keys;
    this.changes?.onKeys(keys, previous);
  }

  setGeneration(generation: Generation): void {
    this.generation = generation;
    if (this.state !== undefined) this.state.generation = generation;
    this.changes?.onGeneration();
  }
}
