// The graph as a file: an SVG that stands by itself, in the colours of the theme.
const LOOK = ["fill", "stroke", "stroke-width", "font-size", "font-weight", "opacity"];

function rgb(value) {
  // what color-mix() computes to is not known outside browsers
  const found = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)/.exec(value);
  return found
    ? `rgb(${found
        .slice(1, 4)
        .map((v) => Math.round(255 * v))
        .join(",")})`
    : value;
}
function copied(element, parent) {
  const look = getComputedStyle(element),
    copy = element.cloneNode(false);
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  copy.removeAttribute("tabindex");
  if (["rect", "path", "text"].includes(element.tagName))
    for (const k of LOOK) copy.setAttribute(k, rgb(look.getPropertyValue(k)));
  parent.appendChild(copy);
  for (const child of element.childNodes) {
    if (child.nodeType === 3) copy.appendChild(child.cloneNode());
    else if (
      !child.classList.contains("gone") &&
      !child.classList.contains("hit") &&
      child.style.display !== "none"
    )
      copied(child, copy);
  }
  return copy;
}
function pictureOf(view) {
  const { scene, root } = view,
    [x0, y0, x1, y1] = scene.box,
    look = getComputedStyle(root);
  const w = x1 - x0 + 80,
    h = y1 - y0 + 110,
    ink = rgb(look.color);
  const made = svg("svg", {
    xmlns: NS,
    width: w,
    height: h,
    viewBox: `${x0 - 40} ${y0 - 70} ${w} ${h}`,
    "font-family": "Inter, Helvetica, Arial, sans-serif",
  });
  svg("rect", { x: x0 - 40, y: y0 - 70, width: w, height: h, fill: rgb(look.backgroundColor) }, made);
  for (const part of [scene.canvas.querySelector("defs"), scene.edgeLayer, scene.nodeLayer])
    copied(part, made);
  const entries = scene.scale ? [[`${scene.mode}: ${scene.scale.join(" to ")}`, null]] : scene.legend;
  let x = x0 - 20;
  for (const [text, c] of entries) {
    if (c !== null)
      svg("rect", { x, y: y0 - 52, width: 11, height: 11, rx: 3, fill: rgb(scene.tone(c)) }, made);
    svg("text", { x: x + 16, y: y0 - 42, "font-size": 12, fill: ink }, made).textContent = text;
    x += 34 + 7 * text.length;
  }
  return new XMLSerializer().serializeToString(made);
}
function savePicture(view) {
  const link = html("a", ""),
    url = URL.createObjectURL(new Blob([pictureOf(view)], { type: "image/svg+xml" }));
  link.href = url;
  link.download = `${view.data.name}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
