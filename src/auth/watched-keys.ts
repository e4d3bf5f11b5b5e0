/** Keeps the keys current: reads the keys file, and checks it for changes. */

import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { fileFingerprint, readGiven, whyUnread } from "../files/given.ts";
import type { ReloadResult } from "../model/reload.ts";
import type { Observe } from "../observe/events.ts";
import { Coalesced } from "../util/process/coalesced.ts";
import { codeOf } from "../util/system-error.ts";
import { compareKeys, keyWarnings } from "./key-changes.ts";
import { KeyRing, KeysFileError, MOST_KEYS_BYTES, parseKeys } from "./keys.ts";
import type { Counters } from "./limit.ts";

const CHECK_MS = 500;

interface ReadKeys {
  /** Of the file, before it was read. */
  readonly fingerprint: string;
  readonly digest: string;
  readonly keys: KeyRing;
  /** Warnings for operators; empty if the text is already in force. */
  readonly warnings: readonly string[];
}

/**
 * @param before its keys are returned again if the file still holds them
 * @param onFault takes the fingerprint of a file that was read and has a fault
 * @throws {KeysFileError} that begins with the file's name
 */
async function readKeyRing(
  file: string,
  counters: Counters,
  before: ReadKeys | undefined,
  onFault: (fingerprint: string) => void,
): Promise<ReadKeys> {
  let fingerprint = "";
  try {
    const { bytes, stats } = await readGiven(file, MOST_KEYS_BYTES);
    fingerprint = fileFingerprint(stats);
    const digest = createHash("sha256").update(bytes).digest("base64");
    if (digest === before?.digest) return { ...before, fingerprint, warnings: [] };
    const { keys, records } = parseKeys(bytes.toString(), counters);
    return { fingerprint, digest, keys, warnings: keyWarnings(records, Date.now()) };
  } catch (error) {
    const isFault = error instanceof KeysFileError;
    if (isFault) onFault(fingerprint);
    const isMissing = codeOf(error) === "ENOENT";
    const hint = before === undefined ? `; make one with: orrery keys create --keys ${file} --name NAME` : "";
    const unread = isMissing ? `file does not exist (ENOENT)${hint}` : whyUnread(error);
    const why = isFault ? error.message : unread;
    if (why === undefined) throw error;
    throw new KeysFileError(`${file}: ${why}`);
  }
}

/**
 * Reads a keys file and keeps it current.
 * @param onKeys called with every key ring, the first included
 * @throws {KeysFileError} when the first read fails; later failures keep the old keys and are logged
 */
export async function keepKeys(
  file: string,
  counters: Counters,
  observe: Observe,
  onKeys: (keys: KeyRing) => void,
) {
  /** Fingerprint of the file that was read last, with a fault or not; undefined if the next check must read. */
  let fingerprint: string | undefined;
  let inForce: ReadKeys | undefined;
  let problem = "";
  let stopped = false;

  async function load(): Promise<ReloadResult> {
    fingerprint = undefined;
    const before = inForce;
    const read = await readKeyRing(file, counters, before, (faulty) => (fingerprint = faulty));
    // A stop does not wait for a read.
    if (stopped) return "refused";
    const { keys, warnings } = read;
    const isNew = keys !== before?.keys;
    if (isNew) onKeys(keys);
    inForce = read;
    fingerprint = read.fingerprint;
    problem = "";
    if (isNew)
      observe({ kind: "keys-loaded", keys: keys.size, ...compareKeys(before?.keys ?? new KeyRing(), keys) });
    else observe({ kind: "keys-unchanged", keys: keys.size });
    if (warnings.length > 0) observe({ kind: "keys-warned", problems: warnings });
    return isNew ? "loaded" : "unchanged";
  }

  /** One read at a time: a slow older one must not override a newer one. */
  const readings = new Coalesced(readAgain);

  async function readAgain(): Promise<ReloadResult> {
    const before = problem;
    try {
      const result = stopped ? "refused" : await load();
      if (!stopped) return result;
      problem = "the server is stopping: no keys are read any more";
    } catch (error) {
      problem = String(error);
      // The same problem is logged once.
      if (problem === before) return "refused";
      if (error instanceof KeysFileError) observe({ kind: "keys-refused", problem: error.message });
      else observe({ kind: "defect", where: "keys", error });
    }
    return "refused";
  }

  await load();
  let timer = setTimeout(checkFile, CHECK_MS);
  async function checkFile(): Promise<void> {
    const known = fingerprint;
    // The text of an error equals no fingerprint.
    const fingerprintNow = (): Promise<string> => stat(file, { bigint: true }).then(fileFingerprint, String);
    // A running read, begun by a signal, need not be repeated.
    if (!readings.isRunning && (await fingerprintNow()) !== known) await readings.ask();
    if (!stopped) timer = setTimeout(checkFile, CHECK_MS);
  }
  return {
    /** Reads the file again, changed or not. */
    reload: () => readings.ask(),
    /** Why the last read was refused; undefined if it succeeded. */
    problem: () => (problem === "" ? undefined : problem.replace(/^KeysFileError: /, "")),
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
