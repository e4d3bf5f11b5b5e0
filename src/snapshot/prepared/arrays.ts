/** One walk takes a generation apart into typed arrays, numbers and texts by path; one puts it together again. */

/** An array that can be stored. */
export type StoredArray = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** A whole in parts, by path (`store.users.starts`). */
export interface Parts {
  readonly values: Map<string, number | string>;
  readonly arrays: Map<string, StoredArray>;
}

/** The kinds of arrays that can be stored: the size of an item in bytes, and how one is made over memory. */
export const ARRAY_TYPES = {
  Buffer: { itemBytes: 1, over: (memory: SharedArrayBuffer): StoredArray => Buffer.from(memory) },
  Uint16Array: { itemBytes: 2, over: (memory: SharedArrayBuffer): StoredArray => new Uint16Array(memory) },
  Uint32Array: { itemBytes: 4, over: (memory: SharedArrayBuffer): StoredArray => new Uint32Array(memory) },
  Float64Array: { itemBytes: 8, over: (memory: SharedArrayBuffer): StoredArray => new Float64Array(memory) },
} as const;

/** Name of a kind of arrays. */
export type ArrayType = keyof typeof ARRAY_TYPES;

/** Whether it names a kind of arrays. */
export function isArrayType(type: unknown): type is ArrayType {
  return typeof type === "string" && Object.hasOwn(ARRAY_TYPES, type);
}

/** The name of an array's type. */
export function typeOf(array: StoredArray): ArrayType {
  const type: string = Buffer.isBuffer(array) ? "Buffer" : array.constructor.name;
  if (!isArrayType(type)) throw new TypeError(`${type} cannot be stored`);
  return type;
}

function walk(value: unknown, path: string, { values, arrays }: Parts): void {
  if (typeof value === "number" || typeof value === "string") {
    values.set(path, value);
  } else if (ArrayBuffer.isView(value)) {
    arrays.set(path, value as StoredArray);
  } else if (Object.getPrototypeOf(value) === Object.prototype) {
    for (const [name, part] of Object.entries(value as object)) {
      walk(part, path === "" ? name : `${path}.${name}`, { values, arrays });
    }
  } else {
    throw new TypeError(`${path} cannot be stored`);
  }
}

/**
 * Takes an object of objects, typed arrays, numbers and texts apart.
 *
 * @throws {TypeError} when there is anything else in it
 */
export function takeApart(whole: object): Parts {
  const parts: Parts = { values: new Map(), arrays: new Map() };
  walk(whole, "", parts);
  return parts;
}

type Branch = { [name: string]: unknown };

/** Puts together what was taken apart. Paths must be known to be good. */
export function putTogether({ values, arrays }: Parts): object {
  const whole: Branch = {};
  for (const [path, part] of [...values, ...arrays]) {
    const names = path.split(".");
    const last = names.pop()!;
    let branch = whole;
    for (const name of names) {
      branch[name] ??= {};
      branch = branch[name] as Branch;
    }
    branch[last] = part;
  }
  return whole;
}

/** The bytes of an array. */
export function bytesOf({ buffer, byteOffset, byteLength }: StoredArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
