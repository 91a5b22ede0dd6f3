// Draws a tree of elements that Python describes: [tag, attributes, children]. All text is text, never markup.
const SVG = new Set(["svg", "g", "rect", "path", "line", "circle", "polyline", "title", "text"]);
const HTML = new Set([
  "div",
  "span",
  "ul",
  "ol",
  "li",
  "b",
  "i",
  "p",
  "h4",
  "details",
  "summary",
  "code",
  "dl",
  "dt",
  "dd",
]);
const NAMES =
  /^(class|role|aria-[a-z]+|data-[a-z-]+|viewBox|preserveAspectRatio|d|x|y|x1|x2|y1|y2|cx|cy|r|rx|width|height|points|lang|open|title|tabindex)$/;
const drawn = new WeakMap();

export default function (component) {
  const root = component.parentElement.querySelector(".drawing"),
    data = component.data;
  const look = getComputedStyle(root);
  for (const [letter, scale] of [
    ["c", "categorical"],
    ["s", "sequential"],
  ]) {
    const palette = look.getPropertyValue(`--st-chart-${scale}-colors`).split(/,(?![^(]*\))/);
    for (const [i, c] of palette.slice(0, 10).entries()) root.style.setProperty(`--${letter}${i}`, c.trim());
  }
  if (drawn.get(root) === data.sig) return;
  drawn.set(root, data.sig);
  const shut = new Map([...root.querySelectorAll("details[data-name]")].map((d) => [d.dataset.name, d.open]));
  root.textContent = "";
  for (const child of data.tree) build(child, root);
  for (const d of root.querySelectorAll("details[data-name]"))
    if (shut.has(d.dataset.name)) d.open = shut.get(d.dataset.name);
}

function build(node, parent) {
  if (typeof node === "string") {
    parent.appendChild(document.createTextNode(node));
    return;
  }
  const [tag, attributes, children] = node;
  if (!SVG.has(tag) && !HTML.has(tag)) return;
  const e = SVG.has(tag) ? document.createElementNS(NS, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("--")) e.style.setProperty(name, value);
    else if (NAMES.test(name)) e.setAttribute(name, value);
  }
  for (const child of children) build(child, e);
  parent.appendChild(e);
}
