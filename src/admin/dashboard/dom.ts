/**
 * Elements. What the server says becomes text and never markup, whoever wrote it: there is no other way
 * here to put something on the page.
 */

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** An element of the page, which `index.html` has. @throws when it is not there */
export function byId<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element #${id}`);
  return found as Kind;
}

/** A new element with attributes (`true` for those without a value, `false` for none) and children. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/**
 * Text that others wrote, such as a name: in its own direction, so that it turns nothing around it, and
 * whole in the tool tip where it is cut off.
 */
export function foreign(text: string, className = ""): HTMLElement {
  const element = make("bdi", { title: text }, text);
  if (className !== "") element.className = className;
  return element;
}

/** Sets an element's text. One that is the same is left alone, which costs no layout and disturbs no selection. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets the text of what {@link foreign} made. */
export function setForeign(element: HTMLElement, text: string): void {
  setText(element, text);
  if (element.title !== text) element.title = text;
}

/** Shows or hides an element. */
export function show(element: HTMLElement, isShown: boolean): void {
  if (element.hidden === isShown) element.hidden = !isShown;
}

/** How rows of a table or items of a list are made and kept current. */
export interface RowsOf<Item> {
  readonly keyOf: (item: Item) => string;
  readonly make: () => HTMLElement;
  readonly update: (row: HTMLElement, item: Item) => void;
}

/** Which item each row shows. */
const keys = new WeakMap<Element, string>();

/**
 * Makes the children of an element those of the items, in their order. The row of an item that was there before stays
 * the same element, so focus, selection and what is unfolded survive.
 */
export function fillRows<Item>(parent: HTMLElement, items: readonly Item[], rows: RowsOf<Item>): void {
  const before = new Map<string, HTMLElement>();
  for (const child of parent.children) {
    const key = keys.get(child);
    if (key !== undefined) before.set(key, child as HTMLElement);
  }
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = rows.keyOf(item);
    const row = before.get(key) ?? rows.make();
    before.delete(key);
    keys.set(row, key);
    rows.update(row, item);
    if (row === next) next = next.nextElementSibling;
    else parent.insertBefore(row, next);
  }
  while (next !== null) {
    const after = next.nextElementSibling;
    next.remove();
    next = after;
  }
}

/** A row of a table: the first cell is its header. `numbers` of the columns are figures. */
export function makeRow(columns: readonly ("text" | "number")[]): HTMLTableRowElement {
  const row = make("tr");
  columns.forEach((kind, at) => {
    const cell = at === 0 ? make("th", { scope: "row" }) : make("td");
    if (kind === "number") cell.className = "number";
    row.append(cell);
  });
  return row;
}
