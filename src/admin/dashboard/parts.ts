/** Cards of the page and their parts, each built from its row: a heading, tables, facts, notes. */

import type { Status } from "../status.ts";
import { type Child, fill, make } from "./dom.ts";
import type { Seen } from "./history.ts";

/** The content of a card for a status. New elements replace the old ones only where they differ. */
export type CardPart = (status: Status, history: readonly Seen[]) => readonly Child[];

/** A section of the page that shows a part of each status. */
export interface Card {
  readonly element: HTMLElement;
  readonly show: (...given: Parameters<CardPart>) => void;
}

/** A card with a heading. @param more small text after the title */
export function card(
  id: string,
  title: string,
  more: string | ((status: Status) => string),
  ...parts: readonly CardPart[]
): Card {
  const heading = `${id}-title`;
  const element = make("section", { class: "card", "aria-labelledby": heading });
  return {
    element,
    show(status, history) {
      const small = make("small", {}, typeof more === "string" ? more : more(status));
      const children = parts.flatMap((part) => part(status, history));
      fill(element, make("h2", { id: heading }, `${title} `, small), ...children);
    },
  };
}

/** A small paragraph that is hidden while it has no text. @param isBad whether it reports a problem */
export function note(id: string, makeText: (status: Status) => string, isBad?: (status: Status) => boolean) {
  const part: CardPart = (status) => {
    const text = makeText(status);
    const kind = isBad?.(status) === true && "bad";
    return [make("p", { id, class: "quiet", "data-kind": kind, hidden: text === "" }, text)];
  };
  return part;
}

type Cell<Item> = (item: Item, status: Status) => Child | readonly Child[];

interface TableSettings<Item> {
  /** The id of its body. */
  readonly id: string;
  /** For screen readers. */
  readonly caption: string;
  /** The cells of the first one head their rows, the others are right-aligned. */
  readonly columns: readonly (readonly [title: string, cell: Cell<Item>])[];
  readonly items: (status: Status) => readonly Item[];
  /** Shown instead of an empty table. */
  readonly empty: string;
}

/** A table with a row for each item; in narrow windows it scrolls, so that it takes the focus. */
export function table<Item>({ id, caption, columns, items, empty }: TableSettings<Item>): CardPart {
  const kindOf = (at: number): "number" | false => at > 0 && "number";
  return (status) => {
    const rows = items(status).map((item) => {
      const cells = columns.map(([, cell], at) => {
        const children = [cell(item, status)].flat() as Child[];
        return make(at === 0 ? "th" : "td", { scope: at === 0 && "row", class: kindOf(at) }, ...children);
      });
      return make("tr", {}, ...cells);
    });
    if (rows.length === 0) return [make("p", { class: "quiet" }, empty)];
    const titles = columns.map(([title], at) => make("th", { scope: "col", class: kindOf(at) }, title));
    const head = make("thead", {}, make("tr", {}, ...titles));
    const body = make("tbody", { id }, ...rows);
    const named = { id: `${id}-table`, role: "region", "aria-label": caption };
    return [make("div", { ...named, class: "scroll", tabindex: 0 }, make("table", {}, head, body))];
  };
}

export type Fact = readonly [name: string, value: Child];

export function factList(facts: readonly Fact[], id: string | false = false): HTMLElement {
  const entries = facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  return make("dl", { id, class: "facts" }, ...entries);
}
