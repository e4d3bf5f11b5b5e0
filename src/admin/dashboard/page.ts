/** The dashboard: asks for the status again and again, and shows it. */

import type { Moment, Status, TimelineReply } from "../status.ts";
import type { Failure } from "./ask.ts";
import { byId, setText } from "./dom.ts";
import { startExplaining } from "./explain.ts";
import { duration, moment } from "./format.ts";
import { showHealth, showMisfit, showTrouble } from "./health.ts";
import { createHistory, type Figures, forgetNow, isBehind, recall, remember } from "./history.ts";
import { showKeys } from "./keys.ts";
import { showLoads } from "./loads.ts";
import { startPolling } from "./poll.ts";
import { processFigures, showProcess } from "./process.ts";
import { startReloading } from "./reload.ts";
import { hideSignIn, showSignIn, startSigningIn } from "./sign-in.ts";
import { showTiles } from "./tiles.ts";
import { showTraffic, trafficFigures } from "./traffic.ts";

const history = createHistory();
/** When the figures on the page were true, by the clock of this machine. */
let seen: Date | undefined;
/** Start of the server that was seen last. */
let startedAt: string | undefined;

function showAbout({ version, runtime, pid, uptimeSeconds, url }: Status): void {
  setText(
    byId("about"),
    `orrery ${version} · ${runtime} · process ${pid} · up ${duration(uptimeSeconds)}${url === null ? "" : ` · ${url}`}`,
  );
}

function figuresOf(moment: Moment): Figures {
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
  // Of another process nothing is known between the two.
  if (startedAt !== undefined && startedAt !== status.startedAt)
    forgetNow(history, now.getTime() / 1000 - 0.001);
  startedAt = status.startedAt;
  remember(history, now.getTime() / 1000, figuresOf(status));
  showHealth(status);
  showTiles(status);
  showTraffic(status, history);
  showKeys(status);
  showLoads(status);
  showProcess(status, history);
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
