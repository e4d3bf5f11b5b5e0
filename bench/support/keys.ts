/** Keys of benches. */

import { changeRecords, makeKey, type NewKey } from "../../src/auth/keys-file.ts";

/** Makes a key and adds it to a file, which is created if missing. @returns the token */
export async function addKey(file: string, key: NewKey): Promise<string> {
  const { token, record } = makeKey(key);
  await changeRecords(file, (records) => [...records, record], { create: true });
  return token;
}
