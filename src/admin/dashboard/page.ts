/**
 * The dashboard: polls the status and shows it: two seconds after each answer, more rarely while the server gives none,
 * and not at all while the page is hidden.
 */

import type { HistoryReply, Status } from "../status.ts";
import { ask, type Failure, hideSignIn, showSignIn, startSigningIn } from "./ask.ts";
import { COLUMNS } from "./cards.ts";
import { byId, fill, make } from "./dom.ts";
import { startExplaining } from "./explain.ts";
import { duration, zoned } from "./format.ts";
import { showHealth, showTrouble } from "./health.ts";
import { extend, GAP_SECONDS, type Seen } from "./history.ts";
import { startReloading } from "./loads.ts";
import { TILES } from "./tiles.ts";

const EVERY_MS = 2000;
const MOST_EVERY_MS = 10_000;
const LIMIT_MS = 10_000;
/** Short, since the charts can do without the server's history. */
const PAST_LIMIT_MS = 3000;

const MISFIT =
  "This page does not fit the server's answer, which may be of another version. Load the page again.";

const history: Seen[] = [];
/** Time of the figures on the page, by this machine's clock. */
let seen: Date | undefined;
let isPaused = false;

function showMoment(): void {
  if (seen !== undefined) fill(byId("updated"), `${isPaused ? "Paused" : "Updated"} ${zoned.format(seen)}`);
}

function showStatus(status: Status): void {
  hideSignIn();
  showHealth(status);
  extend(history, [status]);
  for (const { show } of [TILES, ...COLUMNS.flat()]) show(status, history);
  const { version, runtime, pid, uptimeSeconds, url } = status;
  const facts = [`orrery ${version}`, runtime, `process ${pid}`, `up ${duration(uptimeSeconds)}`, url];
  fill(byId("about"), facts.filter((fact) => fact !== null).join(" · "));
  seen = new Date();
  showMoment();
  byId("content").classList.remove("old");
}

/** Shows an answer. If it cannot be shown, it is of another version: the page says so, and the next one is tried. */
function tryTo(show: () => void): void {
  try {
    show();
  } catch (error) {
    console.error(error);
    // The charts must not draw it again.
    history.pop();
    showTrouble({ kind: "other", text: MISFIT }, seen);
  }
}

function showFailure(failure: Failure): void {
  showTrouble(failure, seen);
  byId("content").classList.add("old");
  if (failure.kind === "token") showSignIn(failure.wasSent);
}

let failures = 0;

/** Asks, first for the server's history if the page lacks the last seconds. @returns the pause after it; undefined until the token is given */
async function askAll(): Promise<number | undefined> {
  if (seen === undefined || Date.now() - seen.getTime() > GAP_SECONDS * 1000) {
    const { value } = await ask<HistoryReply>("GET", "history", PAST_LIMIT_MS);
    if (value !== undefined) tryTo(() => extend(history, value.moments));
  }
  const { value, failure } = await ask<Status>("GET", "status", LIMIT_MS);
  if (failure === undefined) {
    failures = 0;
    tryTo(() => showStatus(value));
    return EVERY_MS;
  }
  showFailure(failure);
  if (failure.kind === "token") return undefined;
  return Math.min(MOST_EVERY_MS, EVERY_MS * 2 ** failures++);
}

/** Whether the page must ask again at once: the answer that it waits for may be of before. */
let isWoken = false;
let endPause = (): void => {};

/** Ends the pause, or skips the next one. */
function wake(): void {
  isWoken = true;
  endPause();
}

async function poll(): Promise<never> {
  for (;;) {
    isWoken = false;
    const pause = isPaused || document.hidden ? undefined : await askAll();
    if (isWoken) continue;
    await new Promise<void>((resolve) => {
      endPause = resolve;
      if (pause !== undefined) setTimeout(resolve, pause);
    });
  }
}

const columns = COLUMNS.map((cards) => make("div", {}, ...cards.map(({ element }) => element)));
byId("content").prepend(TILES.element, ...columns);
startSigningIn(wake);
startReloading(wake);
startExplaining();
byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  wake();
  showMoment();
});
document.addEventListener("visibilitychange", wake);
addEventListener("online", wake);
addEventListener("pageshow", wake);
void poll();
