/// <reference lib="dom" />
/**
 * Operations on the document. Invariant: foreign text enters only through `textContent`, and only when changed, so that
 * screen readers do not repeat it.
 */

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element '${id}'`);
  return element;
}

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element: Element, name: string): void {
  if (element.getAttribute("class") !== name) element.setAttribute("class", name);
}

function add(parent: Element, name: string, text = ""): HTMLElement {
  const element = document.createElement(name);
  if (text !== "") element.textContent = text;
  parent.append(element);
  return element;
}

export function childAt(parent: Element, index: number, name: string): HTMLElement {
  return (parent.children[index] as HTMLElement | undefined) ?? add(parent, name);
}

export function keepChildren(parent: Element, count: number): void {
  while (parent.children.length > count) parent.lastElementChild!.remove();
}

export function showLines(list: Element, lines: readonly string[]): void {
  lines.forEach((line, i) => setText(childAt(list, i, "li"), line));
  keepChildren(list, lines.length);
}

export interface Fact {
  readonly label: string;
  readonly value: string;
}

export function showFacts(list: Element, facts: readonly Fact[]): void {
  facts.forEach(({ label, value }, i) => {
    const pair = childAt(list, i, "div");
    setText(childAt(pair, 0, "dt"), label);
    setText(childAt(pair, 1, "dd"), value);
  });
  keepChildren(list, facts.length);
}
