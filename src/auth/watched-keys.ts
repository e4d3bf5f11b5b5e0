/** Keeps the keys current: reads the keys file, and checks it for changes. */

import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { ReloadResult } from "../model/reload.ts";
import type { Observe } from "../observe/events.ts";
import { Coalesced } from "../util/process/coalesced.ts";
import { codeOf, systemErrorText } from "../util/system-error.ts";
import { compareKeys, keyWarnings } from "./key-changes.ts";
import { createKeyRing, KeyRing, KeysFileError, parseKeys } from "./keys.ts";
import type { Counters } from "./limit.ts";

const LOOK_MS = 500;

interface ReadKeys {
  readonly digest: string;
  readonly keys: KeyRing;
  /** Warnings for operators; empty if the text is already in force. */
  readonly warnings: readonly string[];
}

/**
 * @param before its keys are returned again if the file still holds them
 * @throws {KeysFileError} that begins with the file's name
 */
async function readKeyRing(
  file: string,
  counters: Counters,
  before: ReadKeys | undefined,
): Promise<ReadKeys> {
  try {
    const text = await readFile(file, "utf8");
    const digest = createHash("sha256").update(text).digest("base64");
    if (digest === before?.digest) return { ...before, warnings: [] };
    const records = parseKeys(text);
    return { digest, keys: createKeyRing(records, counters), warnings: keyWarnings(records, Date.now()) };
  } catch (error) {
    if (error instanceof KeysFileError) throw new KeysFileError(`${file}: ${error.message}`);
    const why = systemErrorText(error) ?? codeOf(error);
    if (why === undefined) throw error;
    throw new KeysFileError(
      `${file}: ${codeOf(error) === "ENOENT" ? "file does not exist (ENOENT)" : `cannot be read: ${why}`}`,
    );
  }
}

async function fingerprintOfFile(file: string): Promise<string> {
  try {
    const s = await stat(file, { bigint: true });
    return `${s.dev}:${s.ino}:${s.size}:${s.mtimeNs}:${s.ctimeNs}`;
  } catch (error) {
    return String(codeOf(error));
  }
}

/**
 * Reads a keys file and keeps it current.
 *
 * @param onKeys called with every key ring, the first included
 * @throws {KeysFileError} when the first read fails; later failures keep the old keys and are logged
 */
export async function keepKeys(
  file: string,
  counters: Counters,
  observe: Observe,
  onKeys: (keys: KeyRing) => void,
) {
  /** Fingerprint of the file, taken before its last successful read; undefined if the next check must read. */
  let fingerprint: string | undefined;
  let inForce: ReadKeys | undefined;
  let problem = "";
  let result: ReloadResult = "unchanged";
  let stopped = false;

  async function load(): Promise<void> {
    fingerprint = undefined;
    const seen = await fingerprintOfFile(file);
    const before = inForce;
    const read = await readKeyRing(file, counters, before);
    const { keys, warnings } = read;
    if (keys !== before?.keys) onKeys(keys);
    inForce = read;
    fingerprint = seen;
    problem = "";
    result = keys === before?.keys ? "unchanged" : "loaded";
    if (result === "unchanged") return observe({ kind: "keys-unchanged", keys: keys.size });
    const changes = compareKeys(before?.keys ?? new KeyRing(), keys);
    observe({ kind: "keys-loaded", keys: keys.size, ...changes });
    if (warnings.length > 0) observe({ kind: "keys-warned", problems: warnings });
  }

  /** One read at a time: a slow older one must not override a newer one. */
  const readings = new Coalesced(readAgain);

  async function readAgain(): Promise<void> {
    if (stopped) {
      result = "refused";
      problem = "the server is stopping: no keys are read any more";
      return;
    }
    try {
      await load();
    } catch (error) {
      // The next check tries again; the same problem is logged once.
      const before = problem;
      result = "refused";
      problem = String(error);
      if (problem === before) return;
      if (error instanceof KeysFileError) observe({ kind: "keys-refused", problem: error.message });
      else observe({ kind: "defect", where: "keys", error });
    }
  }

  await load();
  let timer = setTimeout(checkFile, LOOK_MS);
  async function checkFile(): Promise<void> {
    const known = fingerprint;
    // A running read, begun by a signal, need not be repeated.
    if (!readings.isRunning && (await fingerprintOfFile(file)) !== known) await readings.ask();
    if (!stopped) timer = setTimeout(checkFile, LOOK_MS);
  }
  return {
    /** Reads the file again, changed or not. */
    async reload(): Promise<ReloadResult> {
      await readings.ask();
      return result;
    },
    /** Why the last read was refused; undefined if it succeeded. */
    problem: () => (problem === "" ? undefined : problem.replace(/^KeysFileError: /, "")),
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
