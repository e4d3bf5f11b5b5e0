/**
 * The functions that encode rows as JSON. The build replaces this file by the functions that fast-json-stringify generates
 * (`tools/plugins.ts`), since generating them takes longer than loading a small snapshot.
 */

import build from "fast-json-stringify";
import { type ObjectSchema, SCHEMAS } from "../model/model.ts";
import { RESOURCE_NAMES, type ResourceName } from "../model/schema.ts";

/** Encodes a row as JSON, without checking it. */
export type Encoder = (row: object) => string;

/** Ids and times were checked or made by this program, so they need no escapes. */
function encoderSchema({ type, format }: ObjectSchema["properties"][string]): object {
  return format === undefined ? { type } : { type, format: "unsafe" };
}

export function encodedSchema(name: ResourceName): Parameters<typeof build>[0] {
  const { properties, required } = SCHEMAS[name];
  const plain = Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [key, encoderSchema(value)]),
  );
  return { type: "object", properties: plain, required: [...required] } as Parameters<typeof build>[0];
}

export const ENCODERS = Object.fromEntries(
  RESOURCE_NAMES.map((name) => [name, build(encodedSchema(name))]),
) as Readonly<Record<ResourceName, Encoder>>;
