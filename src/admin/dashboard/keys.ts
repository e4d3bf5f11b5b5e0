/** The busiest keys and what is left of their window. */

import type { KeyStatus, Status } from "../status.ts";
import { byId, type Child, fill, foreign, make } from "./dom.ts";
import { count, counted, duration, moment } from "./format.ts";
import { type CardPart, card, note, table } from "./parts.ts";

/** The outcomes of its requests: "3 passed, 12 refused (rate limited 12), last one 4 s ago". */
function useOf({ passed, refused, lastUsedAt }: KeyStatus, { now }: Status): HTMLElement {
  const reasons = Object.entries(refused).filter(([, times]) => times > 0);
  const all = reasons.reduce((sum, [, times]) => sum + times, 0);
  const why = reasons.map(([reason, times]) => `${reason.replace("_", " ")} ${count(times)}`).join(", ");
  const texts = [`${count(passed)} passed`, all === 0 ? "none refused" : `${count(all)} refused (${why})`];
  if (lastUsedAt !== null) {
    texts.push(`last one ${duration((Date.parse(now) - Date.parse(lastUsedAt)) / 1000)} ago`);
  }
  return make("small", { class: passed === 0 && all > 0 ? "use problem" : "use" }, texts.join(", "));
}

function leftOf({ remaining }: KeyStatus): HTMLElement {
  return make("span", { class: remaining === 0 && "problem" }, count(remaining));
}

function usedOf({ used, limit, remaining }: KeyStatus): Child | readonly Child[] {
  if (limit === null) return [];
  const max = Math.max(1, limit);
  const value = Math.min(used, max);
  return make("progress", { "aria-label": "Used", max, value, class: remaining === 0 && "spent" });
}

function limitsText({ limits }: Status): string {
  const { shared, server, since, losses, requests } = limits;
  if (!shared) return "";
  const state = `The counter server of shared limits is ${server} since ${moment(new Date(since ?? ""), new Date())}`;
  const { waited = null, alone = null, refused = null } = requests ?? {};
  const sent = `${count(waited)} requests waited for it, ${count(alone)} were counted alone, ${count(refused)} refused`;
  return `${state}, lost ${counted(losses, "time")}; ${sent}.`;
}

/** Their ids, as choices for the form that explains. */
const IDS: CardPart = {
  elements: [],
  show({ keys }) {
    fill(byId("key-ids"), ...keys.busiest.map(({ id, name }) => make("option", { value: id, label: name })));
  },
};

/** The card. */
export const KEYS_CARD = card(
  {
    id: "keys",
    title: "Busiest keys",
    more: ({ keys }) => `${counted(keys.total, "key")}, window of ${duration(keys.windowSeconds)}`,
    isWide: true,
  },
  table<KeyStatus>({
    id: "keys",
    caption: "Requests of each key in the window that runs",
    columns: [
      {
        title: "Key",
        cell: (key, status) => [foreign(key.name, "name"), foreign(key.id, "id code"), useOf(key, status)],
      },
      { title: "Left", kind: "number", cell: leftOf },
      { title: "of", kind: "number", cell: ({ limit }) => count(limit) },
      { title: make("span", { class: "unseen" }, "Used"), kind: "spare", cell: usedOf },
      {
        title: "Resets in",
        kind: "number",
        cell: (key, { now }) => duration(key.resetEpochSeconds - Date.parse(now) / 1000),
      },
    ],
    items: ({ keys }) => keys.busiest,
    empty: "No key has sent a request in this window.",
  }),
  note("limits", "hint", limitsText, ({ limits }) => limits.server === "away"),
  IDS,
);
