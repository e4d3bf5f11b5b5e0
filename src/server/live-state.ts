/** The two parts of the state that change while the server runs, keys and generation: each one reference, replaced whole. */

import type { State } from "../api/answer.ts";
import { KeyRing } from "../auth/keys.ts";
import type { Generation } from "../store/generation.ts";

export interface Changes {
  readonly onKeys: (keys: KeyRing, previous: KeyRing) => void;
  readonly onGeneration: () => void;
}

export class LiveState {
  #keys = new KeyRing();
  #generation: Generation | undefined;
  #state: State | undefined;
  /** Tells other threads of changes. */
  changes: Changes | undefined;

  /** Makes the state of the first keys and the first generation, which must be set by then. */
  compose(make: (keys: KeyRing, generation: Generation) => State): State {
    this.#state = make(this.#keys, this.#generation!);
    return this.#state;
  }

  setKeys(keys: KeyRing): void {
    this.#keys = keys;
    if (this.#state === undefined) return;
    const previous = this.#state.gate.keys;
    this.#state.gate.keys = keys;
    this.changes?.onKeys(keys, previous);
  }

  setGeneration(generation: Generation): void {
    this.#generation = generation;
    if (this.#state === undefined) return;
    this.#state.generation = generation;
    this.changes?.onGeneration();
  }
}
