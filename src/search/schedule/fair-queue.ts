/** A queue in which keys have turns: in order of arrival within a key, one of each key in turn. */

/** What waits, by key. */
export class FairQueue<Item> {
  /** In order of turns; none of them is empty. */
  readonly #lines = new Map<number, Item[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(key: number, item: Item): void {
    this.#length++;
    const line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, [item]);
    else line.push(item);
  }

  /** Takes the next one; its key then comes behind all others. */
  shift(): Item | undefined {
    for (const [key, line] of this.#lines) {
      const item = line.shift()!;
      this.#length--;
      this.#lines.delete(key);
      if (line.length > 0) this.#lines.set(key, line);
      return item;
    }
    return undefined;
  }
}
