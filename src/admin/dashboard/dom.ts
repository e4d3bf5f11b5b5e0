/** Makes and changes elements. Text from the server becomes text, never markup: no function here parses HTML. */

type Attributes = Readonly<Record<string, string | number | boolean>>;

export type Child = Node | string;

/** Returns an element of `index.html`. */
export function byId<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

/** @param attributes `true`: one without a value; `false`: none */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** Foreign text, such as a name: isolated, so that its direction does not affect its surroundings, and in full in the tool tip. */
export function foreign(text: string, className = ""): HTMLElement {
  return make("bdi", { title: text, class: className !== "" && className }, text);
}

export function showText(element: HTMLElement, text: string): void {
  fill(element, text);
  element.hidden = text === "";
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

/** Runs a button's work; meanwhile the button shows a text and cannot start the work again. */
export async function runOnce(button: Element, text: string, work: () => Promise<void>): Promise<void> {
  if (button.hasAttribute("aria-disabled")) return;
  const { textContent: before } = button;
  // Not `disabled`, which would remove the focus.
  button.setAttribute("aria-disabled", "true");
  fill(button, text);
  try {
    await work();
  } finally {
    button.removeAttribute("aria-disabled");
    fill(button, before);
  }
}
