/** The busiest keys and what is left of their window. */

import type { KeyStatus, LimitsStatus, Status } from "../status.ts";
import { byId, fillRows, foreign, make, makeRow, setForeign, setText, show } from "./dom.ts";
import { count, counted, duration, moment } from "./format.ts";

function makeKeyRow(): HTMLElement {
  const row = makeRow(["text", "number", "number", "text", "number"]);
  row.cells[0]!.append(foreign("", "name"), foreign("", "id code"), make("small", { class: "use" }));
  row.cells[3]!.append(make("progress", { "aria-label": "Used" }));
  row.cells[3]!.classList.add("spare");
  return row;
}

/** What became of its requests: "3 passed, 12 refused (rate limited 12), last one 4 s ago". */
function useText({ passed, refused, lastUsedAt }: KeyStatus, nowSeconds: number): string {
  const reasons = Object.entries(refused).filter(([, times]) => times > 0);
  const all = reasons.reduce((sum, [, times]) => sum + times, 0);
  const why = reasons.map(([reason, times]) => `${reason.replace("_", " ")} ${count(times)}`).join(", ");
  const texts = [`${count(passed)} passed`, all === 0 ? "none refused" : `${count(all)} refused (${why})`];
  if (lastUsedAt !== null) {
    texts.push(`last one ${duration(Math.max(0, nowSeconds - Date.parse(lastUsedAt) / 1000))} ago`);
  }
  return texts.join(", ");
}

function updateKeyRow(row: HTMLElement, key: KeyStatus, nowSeconds: number): void {
  const { cells } = row as HTMLTableRowElement;
  const [name, id, use] = cells[0]!.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
  setForeign(name, key.name);
  setForeign(id, key.id);
  setText(cells[1]!, count(key.remaining));
  cells[1]!.classList.toggle("problem", key.remaining === 0);
  setText(cells[2]!, count(key.limit));
  const used = cells[3]!.firstElementChild as HTMLProgressElement;
  show(used, key.limit !== null);
  used.max = Math.max(1, key.limit ?? 0);
  used.value = Math.min(key.used, used.max);
  used.classList.toggle("spent", key.remaining === 0);
  setText(cells[4]!, duration(key.resetEpochSeconds - nowSeconds));
  setText(use, useText(key, nowSeconds));
  use.classList.toggle("problem", key.passed === 0 && Object.values(key.refused).some((times) => times > 0));
}

function showLimits({ shared, server, since, losses, requests }: LimitsStatus): void {
  const line = byId("limits");
  show(line, shared);
  line.classList.toggle("problem", server === "away");
  const state = `The counter server of shared limits is ${server} since ${moment(new Date(since ?? ""), new Date())}`;
  const { waited = null, alone = null, refused = null } = requests ?? {};
  const sent = `${count(waited)} requests waited for it, ${count(alone)} were counted alone, ${count(refused)} refused`;
  setText(line, `${state}, lost ${counted(losses, "time")}; ${sent}.`);
}

/** Shows them. */
export function showKeys({ keys, limits, now }: Status): void {
  const { busiest, total, windowSeconds } = keys;
  const nowSeconds = Date.parse(now) / 1000;
  setText(byId("keys-window"), `${counted(total, "key")}, window of ${duration(windowSeconds)}`);
  showLimits(limits);
  show(byId("no-keys"), busiest.length === 0);
  show(byId("keys").closest("table")!, busiest.length > 0);
  fillRows(byId("keys"), busiest, {
    keyOf: ({ id }) => id,
    make: makeKeyRow,
    update: (row, key) => updateKeyRow(row, key, nowSeconds),
  });
  fillRows(byId("key-ids"), busiest, {
    keyOf: ({ id }) => id,
    make: () => make("option"),
    update: (option, { id, name }) => {
      (option as HTMLOptionElement).value = id;
      (option as HTMLOptionElement).label = name;
    },
  });
}
