/// <reference lib="dom" />

const svgNames = "http://www.w3.org/2000/svg";

type Attributes = Readonly<Record<string, string | number>>;

export function draw(parent: Element, name: string, attributes: Attributes, text = ""): Element {
  const element = document.createElementNS(svgNames, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value));
  if (text !== "") element.textContent = text;
  parent.append(element);
  return element;
}
