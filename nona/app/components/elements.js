// What all drawn components use: making elements. Text only by textContent, so that no name is ever markup.
const NS = "http://www.w3.org/2000/svg";

function svg(name, attributes, parent) {
  const e = document.createElementNS(NS, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (parent) parent.appendChild(e);
  return e;
}
function html(name, className, parent, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}
