/** A fair queue: round robin over keys, first in first out within a key. */

/** What waits, by key. */
export class FairQueue<Item> {
  /** In order of turns; none of them is empty. */
  readonly #queues = new Map<number, Item[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(key: number, item: Item): void {
    this.#length++;
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [item]);
    else queue.push(item);
  }

  /** Takes the next one; its key then comes behind all others. */
  shift(): Item | undefined {
    for (const [key, queue] of this.#queues) {
      const item = queue.shift()!;
      this.#length--;
      this.#queues.delete(key);
      if (queue.length > 0) this.#queues.set(key, queue);
      return item;
    }
    return undefined;
  }
}
