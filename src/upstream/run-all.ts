/** Many requests, several at a time. */

/** Runs `work` for all items, several at once: the limit decides how many. After the first failure no more begin. */
export async function runAll<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      try {
        await work(items[next++]!);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(8, items.length) }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
