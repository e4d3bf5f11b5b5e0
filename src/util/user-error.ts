/** An error that its user can understand: a command reports its message, without a stack, and fails. */
export class UserError extends Error {
  override name = "UserError";
}

/** A file, folder or output cannot be used. The message says why, and not which one. */
export class PlaceError extends Error {
  override name = "PlaceError";
}

/** A snapshot cannot be loaded. A command reports its problems unchanged. */
export class SnapshotError extends UserError {
  override name = "SnapshotError";
  /** One line per problem. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}
