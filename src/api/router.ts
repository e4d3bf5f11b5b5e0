/** The router, made from route rows. Paths are exact: nothing is decoded or normalised, and case counts. */

export interface RouteMatch<Row> {
  readonly route: Row;
  /** The text in place of `:id`, or "". */
  readonly id: string;
}

/** Makes a function from a path to its match. @param base prefix of every path */
export function createRouter<Row extends { readonly path: string }>(
  routes: readonly Row[],
  base: string,
): (path: string) => RouteMatch<Row> | undefined {
  const fixed = new Map<string, RouteMatch<Row>>();
  const patterns: { readonly prefix: string; readonly suffix: string; readonly route: Row }[] = [];
  for (const route of routes) {
    const [prefix, suffix] = `${base}${route.path}`.split(":id");
    if (suffix === undefined) fixed.set(prefix!, { route, id: "" });
    else patterns.push({ prefix: prefix!, suffix, route });
  }
  const longest = Math.max(...Array.from(fixed.keys(), ({ length }) => length));
  return (path) => {
    // A lookup reads the whole path, which may be long.
    const known = path.length > longest ? undefined : fixed.get(path);
    if (known !== undefined) return known;
    for (const { prefix, suffix, route } of patterns) {
      if (!path.startsWith(prefix) || !path.endsWith(suffix)) continue;
      const end = path.length - suffix.length;
      if (end <= prefix.length) continue;
      const slash = path.indexOf("/", prefix.length);
      if (slash === -1 || slash >= end) return { route, id: path.slice(prefix.length, end) };
    }
    return undefined;
  };
}
