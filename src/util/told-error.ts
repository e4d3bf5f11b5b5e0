/** An error that its user can understand: a command reports its message, without a stack, and fails. */
export class ToldError extends Error {
  override name = "ToldError";
}

/** A file, folder or output cannot be used. The message says why, and not which one. */
export class PlaceError extends Error {
  override name = "PlaceError";
}

/** A snapshot cannot be loaded. A command reports its problems unchanged. */
export class SnapshotError extends ToldError {
  override name = "SnapshotError";
  /** One line per problem. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}
