/** The dashboard: asks for the status again and again, and shows it. */

import type { Moment, Status, TimelineReply } from "../status.ts";
import type { Failure } from "./ask.ts";
import { byId, setText } from "./dom.ts";
import { startExplaining } from "./explain.ts";
import { duration, moment } from "./format.ts";
import { showHealth, showMisfit, showTrouble } from "./health.ts";
import { createHistory, forgetNow, isBehind, recall, remember, type SampleFigures } from "./history.ts";
import { KEYS_CARD } from "./keys.ts";
import { LOADS_CARD } from "./loads.ts";
import { startPolling } from "./poll.ts";
import { MEMORY_CARD, processFigures, SEARCH_CACHE_CARD, THREADS_CARD } from "./process.ts";
import { startReloading } from "./reload.ts";
import { hideSignIn, showSignIn, startSigningIn } from "./sign-in.ts";
import { TILES } from "./tiles.ts";
import { LATENCY_CARD, REJECTED_CARD, REQUESTS_CARD, ROUTES_CARD, trafficFigures } from "./traffic.ts";

/** All figures of the page, in its order. */
const PARTS = [
  TILES,
  REQUESTS_CARD,
  LATENCY_CARD,
  ROUTES_CARD,
  KEYS_CARD,
  SEARCH_CACHE_CARD,
  REJECTED_CARD,
  MEMORY_CARD,
  LOADS_CARD,
  THREADS_CARD,
];

byId("content").prepend(...PARTS.flatMap(({ elements }) => elements));

const history = createHistory();
/** When the figures on the page were true, by the clock of this machine. */
let seen: Date | undefined;
/** Start of the server that was seen last. */
let startedAt: string | undefined;

function showAbout({ version, runtime, pid, uptimeSeconds, url }: Status): void {
  const facts = [`orrery ${version}`, runtime, `process ${pid}`, `up ${duration(uptimeSeconds)}`];
  setText(byId("about"), [...facts, ...(url === null ? [] : [url])].join(" · "));
}

function figuresOf(moment: Moment): SampleFigures {
  return { ...trafficFigures(moment), ...processFigures(moment) };
}

/** Takes the server's memory over, by the clock of this machine. */
function takePast({ now, moments }: TimelineReply): void {
  const ahead = Date.now() - Date.parse(now);
  for (const moment of moments) recall(history, (Date.parse(moment.now) + ahead) / 1000, figuresOf(moment));
}

function showStatus(status: Status): void {
  hideSignIn();
  const now = new Date();
  // Nothing is known of the time between two processes.
  if (startedAt !== undefined && startedAt !== status.startedAt)
    forgetNow(history, now.getTime() / 1000 - 0.001);
  startedAt = status.startedAt;
  remember(history, now.getTime() / 1000, figuresOf(status));
  showHealth(status);
  for (const part of PARTS) part.show(status, history);
  showAbout(status);
  seen = now;
  setText(byId("updated"), `Updated ${moment(now, now)}`);
  byId("content").classList.remove("old");
}

/** An answer that cannot be shown is one of another version: that is told, and the next one tried. */
function tryToShow(status: Status): void {
  try {
    showStatus(status);
  } catch (error) {
    console.error(error);
    showMisfit();
  }
}

function showFailure(failure: Failure): void {
  showTrouble(failure, seen);
  byId("content").classList.add("old");
  if (failure.kind === "token") showSignIn(failure.wasSent);
  else forgetNow(history, Date.now() / 1000);
}

const polling = startPolling({
  wantsPast: () => isBehind(history, Date.now() / 1000),
  onPast: takePast,
  onStatus: tryToShow,
  onFailure: showFailure,
});
startSigningIn(polling.askNow);
startReloading(polling.askNow);
startExplaining();

const pause = byId("pause");
pause.addEventListener("click", () => {
  const isPaused = pause.getAttribute("aria-pressed") !== "true";
  pause.setAttribute("aria-pressed", String(isPaused));
  polling.setPaused(isPaused);
  setText(
    byId("updated"),
    seen === undefined ? "" : `${isPaused ? "Paused" : "Updated"} ${moment(seen, new Date())}`,
  );
});
