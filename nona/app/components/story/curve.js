// Mean JCT over the link's load: simulated as symbols with intervals, by formula as lines.
class Curve {
  constructor(root, choose) {
    this.choose = choose;
    this.title = html("h4", "", root);
    this.legend = html("div", "legend", root);
    this.root = root = html("div", "plot", root);
    root.onclick = (ev) => {
      const r = root.getBoundingClientRect(),
        u = (ev.clientX - r.left - this.left) / (r.width - this.left - this.right);
      if (this.data && u > -0.02 && u < 1.02) this.choose(this.nearest(u));
    };
  }
  nearest(u) {
    const far = this.data.points.map((p) => Math.abs(p.load - u));
    return far.indexOf(Math.min(...far));
  }
  draw(data, at) {
    this.data = data;
    this.root.textContent = "";
    this.title.textContent = data.finding;
    this.legend.textContent = "";
    for (const name of data.order) {
      const entry = html("span", "", this.legend),
        look = data.looks[name];
      entry.style.setProperty("--c", look.colour);
      svg(
        "path",
        { class: "dot", d: mark(look.symbol, 7, 7, 4.5) },
        svg("svg", { width: 14, height: 14 }, entry),
      );
      entry.append(look.title);
    }
    html("span", "how", this.legend, "symbols: simulated, with 95 % intervals; lines: formula");
    html("span", "how", this.legend, `▲: simulated, above ${data.most_ms} ms`);
    const w = Math.max(260, this.root.clientWidth || 600),
      h = 200,
      top = 24,
      bottom = 36,
      most = data.most_ms;
    this.left = 44;
    this.right = 22;
    const x = (u) => this.left + (w - this.left - this.right) * u,
      y = (v) => h - bottom - ((h - bottom - top) * Math.min(v, most)) / most;
    const g = svg("svg", { width: w, height: h, role: "img", "aria-label": data.alt }, this.root);
    if (data.limit !== null) {
      svg(
        "rect",
        { class: "over", x: x(data.limit), y: top, width: x(1) - x(data.limit), height: h - bottom - top },
        g,
      );
      const t = svg("text", { class: "note", x: x(data.limit) + 5, y: top - 10 }, g);
      t.textContent = `keep it whole`;
      svg("line", { class: "limit", x1: x(data.limit), x2: x(data.limit), y1: top - 6, y2: h - bottom }, g);
    }
    for (let v = 0; v <= most; v += 10) {
      svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(v), y2: y(v) }, g);
      if (v % 20 === 0) svg("text", { class: "tick right", x: x(0) - 7, y: y(v) + 4 }, g).textContent = v;
    }
    for (let u = 0; u <= 100; u += 20)
      svg("text", { class: "tick", x: x(u / 100), y: h - bottom + 16 }, g).textContent = `${u} %`;
    svg("text", { class: "tick", x: (x(0) + x(1)) / 2, y: h - 4 }, g).textContent = "link taken by others";
    svg("text", { class: "tick", x: 0, y: top - 10, style: "text-anchor:start" }, g).textContent =
      "mean JCT, ms";
    svg(
      "line",
      { class: "here", x1: x(data.points[at].load), x2: x(data.points[at].load), y1: top, y2: h - bottom },
      g,
    );
    for (const name of data.order) this.line(g, name, x, y, most);
  }
  line(g, name, x, y, most) {
    const look = this.data.looks[name],
      group = svg("g", { style: `--c:${look.colour}` }, g);
    const known = upTo(
      this.data.points
        .filter((p) => p.runs[name].predicted_ms !== null)
        .map((p) => [p.load, p.runs[name].predicted_ms]),
      most,
    );
    if (known.length)
      svg("path", { class: "formula", d: `M${known.map(([u, v]) => `${x(u)},${y(v)}`).join("L")}` }, group);
    for (const p of this.data.points) {
      const run = p.runs[name];
      if (run.mean_ms > most) {
        const [u, v] = [x(p.load), y(most)];
        const beyond = svg("path", { class: "dot", d: `M${u - 5},${v + 4}h10l-5,-9z` }, group);
        svg("title", {}, beyond).textContent = `${look.title}: ${+run.mean_ms.toPrecision(3)} ms`;
        continue;
      }
      if (run.half_ms > 0.1)
        svg(
          "line",
          {
            class: "span",
            x1: x(p.load),
            x2: x(p.load),
            y1: y(run.mean_ms - run.half_ms),
            y2: y(run.mean_ms + run.half_ms),
          },
          group,
        );
      svg("path", { class: "dot", d: mark(look.symbol, x(p.load), y(run.mean_ms), 3.6) }, group);
    }
  }
}
// The points up to the first one above `most`, and the place between where the line crosses it.
function upTo(points, most) {
  const end = points.findIndex(([, v]) => v > most);
  if (end < 0) return points;
  if (end === 0) return [];
  const [[u0, v0], [u1, v1]] = [points[end - 1], points[end]];
  return [...points.slice(0, end), [u0 + ((u1 - u0) * (most - v0)) / (v1 - v0), most]];
}
function mark(symbol, x, y, r) {
  if (symbol === "square") return `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`;
  if (symbol === "diamond")
    return `M${x},${y - r * 1.3}l${r * 1.3},${r * 1.3}l${-r * 1.3},${r * 1.3}l${-r * 1.3},${-r * 1.3}z`;
  return `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0z`;
}
