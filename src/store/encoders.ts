/**
 * The functions that make JSON of rows. The build puts the functions that fast-json-stringify makes in the place of this file
 * (`tools/plugins.ts`), since to make them takes longer than to load a small snapshot.
 */

import build from "fast-json-stringify";
import { SCHEMAS } from "../model/model.ts";
import { RESOURCE_NAMES, type ResourceName } from "../model/schema.ts";

/** Makes the JSON of a row, without a look at whether it is one. */
export type Encoder = (row: object) => string;

/** Ids and times were checked, or made by us, so there is nothing to escape in them: a fifth less time a row. */
function encoderSchema({ type, format }: { type: string; format?: string }): object {
  return format === undefined ? { type } : { type, format: "unsafe" };
}

export function encodedSchema(name: ResourceName): Parameters<typeof build>[0] {
  const { properties, required } = SCHEMAS[name];
  const plain = Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [key, encoderSchema(value)]),
  );
  return { type: "object", properties: plain, required: [...required] } as Parameters<typeof build>[0];
}

/** By name of the schema. */
export const ENCODERS = Object.fromEntries(
  RESOURCE_NAMES.map((name) => [name, build(encodedSchema(name))]),
) as Readonly<Record<ResourceName, Encoder>>;
