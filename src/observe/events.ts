/**
 * What the server reports about itself. The core calls one `observe` function;
 * the log and any metrics are listeners behind it. No observation carries a
 * token or a field of a row that is not declared in the model.
 */

import type { FaultName } from "../model/fault.ts";

/** Counts of a loaded snapshot, as the log shows them. */
export interface LoadCounts {
  readonly users: number;
  readonly worlds: number;
  readonly instances: number;
}

/** What a thread does. */
export type ThreadRole = "search" | "serving" | "similar";

/** Everything that can be observed. Durations are milliseconds. */
export type Observation =
  | { kind: "listening"; url: string; generation: string }
  | { kind: "admin-listening"; url: string }
  | { kind: "stopping"; signal: string }
  | { kind: "stopped"; ms: number }
  | {
      kind: "snapshot-loaded";
      generation: string;
      counts: LoadCounts;
      /** On disk. */
      bytes: number;
      ms: number;
      /** Parts of `ms`: reading and validating, sorting and packing, indexing for search. */
      readMs: number;
      packMs: number;
      indexMs: number;
      /** Tables whose rows were read, and those that are the same as before: "users", "world-stats" … */
      read: readonly string[];
      kept: readonly string[];
    }
  | {
      kind: "snapshot-unchanged";
      generation: string;
      ms: number;
      read: readonly string[];
      kept: readonly string[];
    }
  | { kind: "snapshot-shrunk"; table: string; from: number; to: number }
  | {
      kind: "snapshot-refused";
      problems: readonly string[];
      serving: string;
      /** When it is tried again though the files are the same. */
      retryMs?: number;
      /** Its files changed while they were being read; they are read again once they no longer change. */
      changing?: true;
    }
  | {
      /** Of a generation that is no longer served: what became of its searches. */
      kind: "search-cache";
      generation: string;
      /** Answered from the cache; waited for the same search; searched. */
      hits: number;
      joined: number;
      misses: number;
      /** What the cache held in the end. */
      entries: number;
      bytes: number;
    }
  | {
      /** A new snapshot has come from the source. */
      kind: "source-downloaded";
      generation: string;
      /** Files that were downloaded, their bytes, and files that were here. */
      files: number;
      bytes: number;
      reused: number;
      ms: number;
    }
  | {
      /** The source cannot be used; told once for the same problem. The newest copy is served. */
      kind: "source-failed";
      problem: string;
      /** Generation of the copy, and how long ago the source last confirmed it. */
      copy: string;
      ageSeconds: number;
      /** When the source is asked again, if it is asked at all. */
      retryMs: number;
    }
  | { kind: "source-recovered"; ms: number }
  /** A copy is not what was downloaded; what is wrong is downloaded again. */
  | { kind: "source-damaged"; place: string }
  /** From now on searches for similar names are answered as such. */
  | { kind: "similar-ready"; generation: string; names: number; ms: number }
  | {
      /** Searches for similar names are answered as exact ones. */
      kind: "similar-failed";
      generation: string;
      problem: string;
      /** When it is tried again; with the next generation if absent. */
      retryMs?: number;
    }
  /** A thread that searches, exactly or for similar names, or one that answers requests. */
  | { kind: "thread-died"; role: ThreadRole; cause: string }
  | { kind: "thread-replaced"; role: ThreadRole; ms: number }
  /** More connections than the limit of open files leaves room for; told of at most every ten seconds. */
  | { kind: "connections-refused"; limit: number }
  /** The first time all are added. A key is its id: with another token or name it is changed. */
  | { kind: "keys-loaded"; keys: number; added: number; changed: number; removed: number }
  /** Of the keys that were just loaded: unknown fields, and keys that can read nothing. */
  | { kind: "keys-warned"; problems: readonly string[] }
  /** The keys file was read again and holds what is in force already. */
  | { kind: "keys-unchanged"; keys: number }
  | { kind: "keys-refused"; problem: string }
  | {
      /** The counts of the running window were taken up from the file of `--state`. */
      kind: "state-restored";
      file: string;
      /** With a count in the window. */
      keys: number;
      /** When the window ends, in seconds since the epoch. */
      reset: number;
    }
  | {
      /** That file cannot be used; counting begins anew, and the file is replaced. */
      kind: "state-refused";
      file: string;
      problem: string;
      /** Nothing is wrong with it but its age. */
      isOld?: true;
    }
  /** Counts cannot be written; told once for the same problem. */
  | { kind: "state-failed"; file: string; problem: string }
  | { kind: "state-recovered"; file: string }
  | {
      kind: "request";
      /** Sent as `X-Request-Id`, too. */
      id: string;
      /** "" where the request did not get so far; the path likewise. */
      method: string;
      /** Without query and without anything that may be a token. */
      path: string;
      /** Path pattern of the operation, or "". */
      route: string;
      status: number;
      /** Of the body. */
      bytes: number;
      ms: number;
      /** "" when no key was found. */
      keyId: string;
      /** Address of the peer; absent without a connection. */
      client?: string;
      /** Name of the error that was answered. */
      fault?: string;
      /** Of the trace that the request said it belongs to, and of the part of it that sent it: hex digits. */
      traceId?: string;
      parentId?: string;
      /** For how many requests it stands, where only a sample is observed; 1 when absent. */
      sample?: number;
    }
  /** A key's first request in a window that was refused for its limit; of a key at most once a minute. */
  | { kind: "key-limited"; keyId: string; name: string; limit: number; reset: number }
  /**
   * An address sent many tokens that were refused: so many since it was last told of, which is at most once a minute. Of
   * IPv6 a network of 64 bits. `fault` names the error that the last one was answered with.
   */
  | { kind: "bad-tokens"; client: string; count: number; fault: FaultName }
  /** Lines of the log that were not written, since its reader was too slow or gone, or writing failed. */
  | { kind: "log-lines-dropped"; count: number }
  /** The file of the log was opened again by its name. */
  | { kind: "log-reopened" }
  /** It could not be; lines go to the file before. */
  | { kind: "log-reopen-failed"; problem: string }
  | {
      /** A server of shared limits cannot be asked; told once. */
      kind: "limits-away";
      server: string;
      problem: string;
      /** Whether requests are counted alone meanwhile, instead of refused. */
      alone: boolean;
    }
  | { kind: "limits-back"; server: string; ms: number }
  /** An environment variable that looks like a setting and is none, and the one that may be meant. */
  | { kind: "variable-unknown"; variable: string; meant?: string }
  /** Settings that were given and do nothing, flags and variables, and why: on this runtime, or without another setting. */
  | { kind: "settings-without-effect"; settings: readonly string[]; why: string }
  /** A signal that would otherwise end the process or open a debugger. */
  | { kind: "signal-ignored"; signal: string }
  | { kind: "defect"; where: string; error: unknown };

/** Receives every observation; must not throw. */
export type Observe = (observation: Observation) => void;

/** Reports nothing to nobody. */
export const observeNothing: Observe = () => {};
