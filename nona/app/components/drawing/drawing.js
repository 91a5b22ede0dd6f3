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
const looks = new WeakMap(); // of each element: its attributes as they came

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
  fill(root, data.tree);
  for (const d of root.querySelectorAll("details[data-name]"))
    if (shut.has(d.dataset.name)) d.open = shut.get(d.dataset.name);
}

// Elements that are there are changed, not made anew: a live picture does not flicker, and keeps what has the focus.
function fill(parent, nodes) {
  const wanted = nodes.filter((node) => typeof node === "string" || SVG.has(node[0]) || HTML.has(node[0]));
  for (const [k, node] of wanted.entries()) {
    const old = parent.childNodes[k],
      made = typeof node === "string" ? text(node, old) : element(node, old);
    if (!old) parent.appendChild(made);
    else if (made !== old) parent.replaceChild(made, old);
  }
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}
function text(words, old) {
  if (old?.nodeType !== Node.TEXT_NODE) return document.createTextNode(words);
  if (old.data !== words) old.data = words;
  return old;
}
function element([tag, attributes, children], old) {
  let e = old;
  if (old?.localName !== tag)
    e = SVG.has(tag) ? document.createElementNS(NS, tag) : document.createElement(tag);
  const look = JSON.stringify(attributes);
  if (looks.get(e) !== look) {
    looks.set(e, look);
    for (const name of e.getAttributeNames()) e.removeAttribute(name);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("--")) e.style.setProperty(name, value);
      else if (NAMES.test(name)) e.setAttribute(name, value);
    }
  }
  fill(e, children);
  return e;
}
