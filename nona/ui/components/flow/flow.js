// The stages of the pipeline as cards with a small picture, an arrow from each to the next.
// Drawn in a box of 72 × 44: lines (l), filled shapes (f), shapes of the second colour (s).
const PICTURES = {
  models: {
    l: "M36 8L18 22M36 8L36 22M36 8L54 22M18 22L36 37M36 22L36 37M54 22L36 37",
    f: dots(
      [
        [36, 7],
        [18, 22],
        [36, 22],
        [54, 22],
        [36, 37],
      ],
      4.5,
    ),
  },
  contraction: {
    l: "M36 10L20 22M36 10L56 22M20 22L36 36M56 22L36 36",
    f: dots(
      [
        [20, 22],
        [56, 22],
      ],
      4.5,
    ),
    s: box(27, 3, 18, 12, 6) + box(27, 30, 18, 12, 6),
  },
  cluster: {
    l: "M14 26v10h44v-10M36 26v10",
    f: box(6, 8, 16, 18, 3) + box(28, 8, 16, 18, 3) + box(50, 8, 16, 18, 3),
    s: box(9, 12, 10, 3, 1) + box(31, 12, 10, 3, 1) + box(31, 18, 10, 3, 1) + box(53, 12, 10, 3, 1),
  },
  workload: {
    l: "M4 38h64",
    f:
      box(9, 24, 4, 14, 1) +
      box(19, 12, 4, 26, 1) +
      box(25, 20, 4, 18, 1) +
      box(42, 8, 4, 30, 1) +
      box(60, 26, 4, 12, 1),
    s: box(48, 16, 4, 22, 1),
  },
  placement: {
    l: "M33 22h6",
    f: box(5, 6, 28, 32, 5),
    s: box(39, 6, 28, 32, 5),
    h: dots(
      [
        [14, 15],
        [24, 22],
        [14, 30],
        [53, 22],
      ],
      3.6,
    ),
  },
  simulation: {
    l: "M6 4v36h62",
    f:
      "M14 12h30v2.4h-30zM22 23h38v2.4h-38zM12 34h16v2.4h-16z" +
      dots(
        [
          [29, 13],
          [42, 24],
          [20, 35],
        ],
        4,
      ),
    s: "M50 4h2v34h-2z",
  },
};
function dots(at, r) {
  return at
    .map(([x, y]) => `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0z`)
    .join("");
}
function box(x, y, w, h, r) {
  return `M${x + r},${y}h${w - 2 * r}a${r},${r} 0 0 1 ${r},${r}v${h - 2 * r}a${r},${r} 0 0 1 ${-r},${r}h${-(w - 2 * r)}a${r},${r} 0 0 1 ${-r},${-r}v${-(h - 2 * r)}a${r},${r} 0 0 1 ${r},${-r}z`;
}

export default function (component) {
  const root = component.parentElement.querySelector(".flow");
  root.textContent = "";
  root.setAttribute("aria-label", "The pipeline");
  for (const stage of component.data.stages) {
    const card = html("button", stage.state, html("li", "", root)),
      parts = PICTURES[stage.picture];
    card.type = "button";
    card.onclick = () => component.setTriggerValue("open", stage.page);
    const picture = svg("svg", { viewBox: "0 0 72 44", "aria-hidden": "true" }, card);
    for (const kind of ["l", "f", "s", "h"])
      if (parts[kind]) svg("path", { class: kind, d: parts[kind] }, picture);
    html("strong", "", card, stage.title);
    html("span", "value", card, stage.value);
    html("span", "detail", card, stage.detail);
  }
}
