/** What JSON.parse may have given. */

/** Whether a value is an object with fields: no array and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
