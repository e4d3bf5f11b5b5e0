/**
 * Rows of any form: parsed, checked field by field with a problem for each that
 * is wrong, and encoded from their values.
 */

import { FIELDS, RESOURCE_OF, type TableName } from "../model/schema.ts";
import { ENCODERS } from "../store/encoders.ts";
import { createArriving, type Row, type RowChecker } from "./rows.ts";
import { createStageRow, type Stage } from "./stage.ts";

/** Makes what stages the parsed rows of a table. */
export function stageParsed(stage: Stage, table: TableName, check: RowChecker): (row: Row) => void {
  const fields = FIELDS[table];
  const arriving = createArriving(fields);
  const stageRow = createStageRow(stage, table, check);
  const encode = ENCODERS[RESOURCE_OF[table]];
  const { texts } = stage[table];
  return (row) => {
    const values: Record<string, unknown> = {};
    for (const [at, field] of fields.entries())
      values[field.name] = check.read(field, row[field.name], arriving, at);
    if (check.good && stageRow(arriving)) texts.push(encode(values));
  };
}
