/** The path patterns of the operations, below the API's base path; `:id` stands for one segment. Metrics are counted by them. */
export const PATHS = [
  "/worlds",
  "/worlds/search",
  "/worlds/popular",
  "/worlds/:id",
  "/worlds/:id/stats",
  "/worlds/:id/instances",
  "/users/search",
  "/users/:id",
  "/users/:id/worlds",
  "/instances",
  "/instances/:id",
  "/stats",
] as const;

export type PathPattern = (typeof PATHS)[number];
