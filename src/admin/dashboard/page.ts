/**
 * The dashboard: asks for the status again and again, and shows it: two seconds after each answer, more rarely while
 * there is none, and not at all while nobody looks.
 */

import type { Status, TimelineReply } from "../status.ts";
import { ask, type Failure, hideSignIn, showSignIn, startSigningIn } from "./ask.ts";
import { CARDS } from "./cards.ts";
import { byId, setText } from "./dom.ts";
import { startExplaining } from "./explain.ts";
import { duration, moment } from "./format.ts";
import { showHealth, showMisfit, showTrouble } from "./health.ts";
import { forgetNow, isBehind, recall, remember, type ShownHistory } from "./history.ts";
import { startReloading } from "./loads.ts";

const EVERY_MS = 2000;
const MOST_EVERY_MS = 10_000;
/** In which a status must have arrived. */
const LIMIT_MS = 10_000;
/** In which the server's memory must have arrived: the charts can do without. */
const PAST_LIMIT_MS = 3000;

const history: ShownHistory = { moments: [], figures: [] };
/** When the figures on the page were true, by the clock of this machine. */
let seen: Date | undefined;
/** Start of the server that was seen last. */
let startedAt: string | undefined;

/** Takes the server's memory over, by the clock of this machine. */
function takePast({ now, moments }: TimelineReply): void {
  const ahead = Date.now() - Date.parse(now);
  for (const moment of moments) recall(history, (Date.parse(moment.now) + ahead) / 1000, moment);
}

function showStatus(status: Status): void {
  hideSignIn();
  const at = new Date();
  const seconds = at.getTime() / 1000;
  // Nothing is known of the time between two processes.
  if (startedAt !== undefined && startedAt !== status.startedAt) forgetNow(history, seconds - 0.001);
  startedAt = status.startedAt;
  const { now, requests, memory, threads } = status;
  remember(history, seconds, { now, requests, memory, threads });
  showHealth(status);
  for (const { show } of CARDS) show(status, history);
  const { version, runtime, pid, uptimeSeconds, url } = status;
  const facts = [`orrery ${version}`, runtime, `process ${pid}`, `up ${duration(uptimeSeconds)}`];
  setText(byId("about"), [...facts, ...(url === null ? [] : [url])].join(" · "));
  seen = at;
  setText(byId("updated"), `Updated ${moment(at, at)}`);
  byId("content").classList.remove("old");
}

/** An answer that cannot be shown is one of another version: that is told, and the next one tried. */
function tryToShow(status: Status): void {
  try {
    showStatus(status);
  } catch (error) {
    console.error(error);
    // It may not be drawn again.
    history.figures.splice(-1, 1, undefined);
    showMisfit();
  }
}

function showFailure(failure: Failure): void {
  showTrouble(failure, seen);
  byId("content").classList.add("old");
  if (failure.kind === "token") showSignIn(failure.wasSent);
  else forgetNow(history, Date.now() / 1000);
}

let timer: ReturnType<typeof setTimeout> | undefined;
let isAsking = false;
let isPaused = false;
/** Whether to ask at once when the running question is over. */
let isWanted = false;
let failures = 0;

/** Asks once; for the server's memory first, where the page has none of the last seconds. @returns the pause after it, if any */
async function askAll(): Promise<number | undefined> {
  if (isBehind(history, Date.now() / 1000)) {
    const { value } = await ask<TimelineReply>("GET", "history", PAST_LIMIT_MS);
    if (value !== undefined) takePast(value);
  }
  const { value, failure } = await ask<Status>("GET", "status", LIMIT_MS);
  if (failure === undefined) {
    failures = 0;
    tryToShow(value);
    return EVERY_MS;
  }
  showFailure(failure);
  // Without another token the answer is the same.
  return failure.kind === "token" ? undefined : Math.min(MOST_EVERY_MS, EVERY_MS * 2 ** failures++);
}

async function round(): Promise<void> {
  clearTimeout(timer);
  if (isAsking || isPaused || document.hidden) return;
  isAsking = true;
  isWanted = false;
  let pause: number | undefined = MOST_EVERY_MS;
  try {
    pause = await askAll();
  } finally {
    isAsking = false;
    if (isWanted) pause = 0;
    if (pause !== undefined) timer = setTimeout(round, pause);
  }
}

function askNow(): void {
  isWanted = true;
  void round();
}

byId("content").prepend(...CARDS.map(({ element }) => element));
startSigningIn(askNow);
startReloading(askNow);
startExplaining();
byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  void round();
  const state = isPaused ? "Paused" : "Updated";
  setText(byId("updated"), seen === undefined ? "" : `${state} ${moment(seen, new Date())}`);
});
document.addEventListener("visibilitychange", round);
addEventListener("online", round);
addEventListener("pageshow", round);
void round();
