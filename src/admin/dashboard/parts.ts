/** Cards of the page and their parts, each from its row: a heading, tables, facts, notes. */

import type { Status } from "../status.ts";
import { type Child, fill, make, setText, show } from "./dom.ts";
import type { ShownHistory } from "./history.ts";

/** A part of the page that shows some of each answer. */
export interface CardPart {
  readonly elements: readonly HTMLElement[];
  readonly show: (status: Status, history: ShownHistory) => void;
}

type TextOf = (status: Status) => string;

/** What a card is like. */
interface CardSettings {
  readonly id: string;
  readonly title: string;
  /** Small, after the title. */
  readonly more?: string | TextOf;
  readonly isWide: boolean;
}

/** A card with a heading. */
export function card(
  { id, title, more = "", isWide }: CardSettings,
  ...parts: readonly CardPart[]
): CardPart {
  const small = make("small", {}, typeof more === "string" ? more : "");
  const heading = make("h2", { id: `${id}-title` }, `${title} `, small);
  const element = make(
    "section",
    { class: isWide ? "card wide" : "card", "aria-labelledby": heading.id },
    heading,
    ...parts.flatMap(({ elements }) => elements),
  );
  return {
    elements: [element],
    show(status, history) {
      if (typeof more === "function") setText(small, more(status));
      for (const part of parts) part.show(status, history);
    },
  };
}

/** A paragraph that is hidden while it has no text. @param isBad whether it tells of trouble */
export function note(id: string, className: string, textOf: TextOf, isBad = (_: Status) => false): CardPart {
  const element = make("p", { id, class: className, hidden: true });
  return {
    elements: [element],
    show(status) {
      const text = textOf(status);
      setText(element, text);
      show(element, text !== "");
      element.classList.toggle("problem", isBad(status));
    },
  };
}

/** A column of a table. The cells of the first one head their rows. */
export interface TableColumn<Item> {
  readonly title: Child;
  /** Classes of the style sheet: `number` for figures, `spare` for a column that narrow windows do without. */
  readonly kind?: string;
  readonly cell: (item: Item, status: Status) => Child | readonly Child[];
}

/** What a table is like. */
interface TableSettings<Item> {
  /** The id of its body. */
  readonly id: string;
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly TableColumn<Item>[];
  readonly items: (status: Status) => readonly Item[];
  /** Shown in its place while there are no items. */
  readonly empty: string;
}

/** A table with a row for each item. */
export function table<Item>({ id, caption, columns, items, empty }: TableSettings<Item>): CardPart {
  const head = columns.map(({ title, kind = false }) => make("th", { scope: "col", class: kind }, title));
  const body = make("tbody", { id });
  const whole = make(
    "table",
    {},
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, ...head)),
    body,
  );
  const none = make("p", { class: "empty" }, empty);
  const rowOf = (item: Item, status: Status): HTMLElement => {
    const cells = columns.map(({ kind = false, cell }, at) => {
      const children = [cell(item, status)].flat() as Child[];
      return make(at === 0 ? "th" : "td", { scope: at === 0 && "row", class: kind }, ...children);
    });
    return make("tr", {}, ...cells);
  };
  return {
    elements: [whole, none],
    show(status) {
      const shown = items(status);
      show(whole, shown.length > 0);
      show(none, shown.length === 0);
      fill(body, ...shown.map((item) => rowOf(item, status)));
    },
  };
}

/** Something by its name; null is left out. */
export type Fact = readonly [name: string, value: Child | null];

/** The entries of a list of facts. */
export function entries(facts: readonly Fact[]): HTMLElement[] {
  return facts.flatMap(([name, value]) =>
    value === null ? [] : make("div", {}, make("dt", {}, name), make("dd", {}, value)),
  );
}

/** A list of facts. @param empty shown in its place while there are none */
export function facts(id: string, factsOf: (status: Status) => readonly Fact[], empty: string): CardPart {
  const list = make("dl", { id, class: "facts" });
  const none = make("p", { class: "empty" }, empty);
  return {
    elements: [list, none],
    show(status) {
      const shown = factsOf(status);
      show(none, shown.length === 0);
      fill(list, ...entries(shown));
    },
  };
}
