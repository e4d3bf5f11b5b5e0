/** Elements. Text of the server becomes text and never markup: there is no other way here to put something on the page. */

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Content of an element. */
export type Child = Node | string;

/** An element of the page, which `index.html` has. */
export function byId<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

/** Gives an element attributes, `true` for those without a value, `false` for none, and children. */
function equip<Kind extends Element>(
  element: Kind,
  attributes: Attributes,
  children: readonly Child[],
): Kind {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** A new element. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return equip(document.createElement(tag), attributes, children);
}

function makeSvg(tag: string, attributes: Attributes, ...children: readonly Child[]): Element {
  return equip(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Bars in a row: their widths, as parts of the whole, and the numbers of their colours. */
export function bars(
  className: string,
  whole: number,
  widths: readonly number[],
  colours: readonly number[],
): Element {
  let x = 0;
  const rects = widths.map((width, at) => {
    x += width;
    return makeSvg("rect", { x: x - width, width, height: 1, fill: `var(--series-${colours[at]})` });
  });
  const frame = { viewBox: `0 0 ${whole} 1`, preserveAspectRatio: "none", "aria-hidden": "true" };
  return makeSvg("svg", { class: className, ...frame }, ...rects);
}

/** Text of others, such as a name: in its own direction, so that it turns nothing around it, and whole in the tool tip. */
export function foreign(text: string, className = ""): HTMLElement {
  return make("bdi", { title: text, class: className !== "" && className }, text);
}

/** Sets an element's text. One that is the same is left alone, which costs no layout and disturbs no selection. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows or hides an element. */
export function show(element: HTMLElement, isShown: boolean): void {
  if (element.hidden === isShown) element.hidden = !isShown;
}

/** Shows an element with a text, or hides it where the text is empty. */
export function tell(element: HTMLElement, text: string): void {
  setText(element, text);
  show(element, text !== "");
}

/** Whether two elements are equal but for their children. */
function isAlike(one: Node, other: Node): one is Element {
  return one instanceof Element && one.cloneNode(false).isEqualNode(other.cloneNode(false));
}

/** Makes the children of an element equal to others. Equal nodes stay in the page: focus and selection survive in them. */
export function fill(parent: Element, ...children: readonly Child[]): void {
  children.forEach((child, at) => {
    const node = typeof child === "string" ? new Text(child) : child;
    const before = parent.childNodes[at];
    if (before === undefined) parent.append(node);
    else if (before === node || before.isEqualNode(node)) return;
    else if (isAlike(before, node)) fill(before, ...node.childNodes);
    else before.replaceWith(node);
  });
  while (parent.childNodes.length > children.length) parent.lastChild!.remove();
}

/** Runs the work of a button, which shows a text meanwhile and cannot start it again. */
export async function runOnce(button: Element, text: string, work: () => Promise<void>): Promise<void> {
  if (button.hasAttribute("aria-disabled")) return;
  const { textContent: before } = button;
  // Not disabled, which would take the focus away.
  button.setAttribute("aria-disabled", "true");
  setText(button, text);
  try {
    await work();
  } finally {
    button.removeAttribute("aria-disabled");
    setText(button, before);
  }
}
