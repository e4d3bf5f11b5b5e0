/** Listening at a Unix socket, and at a socket that was inherited from the process that started this one. */

import { existsSync, fstatSync, readFileSync, type Stats } from "node:fs";
import { lstat, rename, stat, unlink } from "node:fs/promises";
import { type AddressInfo, connect, type ListenOptions, type Server } from "node:net";
import { dirname, join } from "node:path";
import { codeOf } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";
import { startListening } from "./start-listening.ts";

/** Whether a server listens at a socket. @throws the error of the system when that cannot be known */
function hasServer(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error) => {
      if (codeOf(error) === "ECONNREFUSED" || codeOf(error) === "ENOENT") resolve(false);
      else reject(error);
    });
  });
}

/** Checks that a path is free, or holds the socket of a server that is gone. @throws {PlaceError} or the error of the system */
export async function checkSocketPath(path: string): Promise<void> {
  // Node says EACCES where a folder is missing.
  await stat(dirname(path)).catch((error: unknown) => {
    throw codeOf(error) === "ENOENT" ? new PlaceError(`the folder ${dirname(path)} does not exist`) : error;
  });
  const found = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return;
  if (!found.isSocket()) throw new PlaceError(`${path} is there and is not a socket`);
  if (await hasServer(path)) throw new PlaceError(`a server listens at ${path} already`);
}

/** The sockets that servers made, to be removed when they stop. */
const made = new WeakMap<Server, { readonly path: string; readonly inode: number }>();

/** Only the owner and the group may connect: the mode of a new socket is 0777 minus this. */
const UMASK = 0o117;

/**
 * Starts to listen at a path that is free. The mode comes from the umask, since a mode set by path could reach another file: in
 * a folder of another user the name may have been swapped. The umask counts for this call alone, in which the system binds.
 */
function bindAt(server: Server, path: string): Promise<void> {
  const umask = process.umask(UMASK);
  try {
    return startListening(server, { path, exclusive: true });
  } finally {
    process.umask(umask);
  }
}

/**
 * Listens at a path. The socket is made under another name and renamed, so that it has its mode from the first moment, and
 * replaces a dead one in one step.
 * @throws {PlaceError} or the error of the system
 */
export async function listenAtPath(server: Server, path: string): Promise<AddressInfo> {
  await checkSocketPath(path);
  const draft = join(dirname(path), `.orrery-${process.pid}`);
  await unlink(draft).catch(() => {});
  await bindAt(server, draft);
  await rename(draft, path);
  made.set(server, { path, inode: (await lstat(path)).ino });
  return { address: `unix:${path}`, family: "unix", port: 0 };
}

/** Removes the socket that a server made, unless another one has taken its place. To be called when it listens no more. */
export async function removeSocket(server: Server): Promise<void> {
  const socket = made.get(server);
  if (socket === undefined) return;
  made.delete(server);
  const { path, inode } = socket;
  const isOurs = await lstat(path).then(
    ({ ino }) => ino === inode,
    () => false,
  );
  if (isOurs) await unlink(path).catch(() => {});
}

/** The place of the inode in a line of `/proc/net/unix`; the path follows it. */
const INODE = 6;

/** The path of a Unix socket by its inode; "" for any other, and where the system has no table of them. */
function pathOf(inode: number): string {
  if (!existsSync("/proc/net/unix")) return "";
  const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
  const fields = lines.map((line) => line.split(/ +/)).find((line) => line[INODE] === String(inode));
  return fields?.slice(INODE + 1).join(" ") ?? "";
}

/** The path of an inherited socket, "" for TCP. @throws {PlaceError} when the descriptor is no socket */
export function inheritedPath(fd: number): string {
  let found: Stats | undefined;
  try {
    found = fstatSync(fd);
  } catch {
    // It is not open.
  }
  if (!found?.isSocket()) throw new PlaceError(`descriptor ${fd} is no open socket`);
  return pathOf(found.ino);
}

/** Listens at an inherited socket. Its queue outlives this process: nobody who connects meanwhile is refused. @throws {PlaceError} */
export async function listenAtDescriptor(server: Server, fd: number): Promise<AddressInfo> {
  const path = inheritedPath(fd);
  const options = { fd, exclusive: true };
  await startListening(server, options as ListenOptions).catch((error: unknown) => {
    throw new PlaceError(`descriptor ${fd} is no listening socket (${codeOf(error as Error) ?? error})`);
  });
  const address = server.address();
  if (address !== null && typeof address === "object") return address;
  return { address: `unix:${path}`, family: "unix", port: 0 };
}
