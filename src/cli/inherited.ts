/** Sockets that a service manager hands over at the start, as systemd does for a socket unit (sd_listen_fds(3)). */

import { CommandError } from "./options.ts";

/** The first descriptor that is handed over. */
const FIRST = 3;

/**
 * Reads which sockets were handed over, and removes the variables, which must not reach children.
 * @returns hosts in place of `--host` and `--admin`; undefined where nothing was handed over for it
 * @throws {CommandError} when the variables contradict themselves
 */
export function takeInherited(environment: Record<string, string | undefined>, pid: number) {
  const { LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES = "" } = environment;
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete environment[name];
  // They may be meant for a parent that did not remove them.
  if (LISTEN_FDS === undefined || LISTEN_PID !== String(pid)) return { api: undefined, admin: undefined };
  const count = Number(LISTEN_FDS);
  if (!/^[1-9]\d*$/.test(LISTEN_FDS) || count > 2)
    throw new CommandError(`LISTEN_FDS: must be 1 or 2, is ${JSON.stringify(LISTEN_FDS)}`);
  // Socket units of one service come in no order of their own.
  const admin = LISTEN_FDNAMES.split(":").slice(0, count).indexOf("admin");
  if (count === 2 && admin < 0)
    throw new CommandError(
      'LISTEN_FDNAMES: one of two sockets must have the name "admin" (FileDescriptorName=)',
    );
  // Without a name a single socket is the API's.
  const api = count === 1 ? (admin < 0 ? 0 : -1) : 1 - admin;
  const hostOf = (at: number): string | undefined => (at < 0 ? undefined : `fd:${FIRST + at}`);
  return { api: hostOf(api), admin: hostOf(admin) };
}
