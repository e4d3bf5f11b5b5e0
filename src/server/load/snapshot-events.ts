/** What happens to a snapshot between two lines of the log. */

/** Who is told of what is not worth a line in a log. */
export interface SnapshotEvents {
  /** A load begins. */
  readonly began: () => void;
  /** It is over. */
  readonly ended: () => void;
  /**
   * What is served is what there is.
   *
   * @param ageMs how long ago that was so, in milliseconds
   * @param createdAt the moment of the data, as the manifest tells it
   */
  readonly confirmed: (ageMs: number, createdAt?: string | undefined) => void;
}

/** Does a load, and tells when it begins and when it is over. */
export async function tellingOf(
  events: SnapshotEvents | undefined,
  load: () => Promise<void>,
): Promise<void> {
  events?.began();
  try {
    await load();
  } finally {
    events?.ended();
  }
}
