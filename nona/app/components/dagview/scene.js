// What is drawn: nodes, edges, colours, marks. Coordinates are those of the layout, in pixels at zoom 1.
const SEQUENTIAL = 100; // tones from here on are steps of the sequential scale

class Scene {
  constructor(canvas, root) {
    this.root = root;
    this.canvas = canvas;
    this.mode = "";
    this.byBytes = false;
    const marker = svg(
      "marker",
      {
        id: "head",
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        markerUnits: "userSpaceOnUse",
        orient: "auto",
      },
      svg("defs", {}, canvas),
    );
    svg("path", { d: "M0,0L8,4L0,8z", class: "head" }, marker);
    this.world = svg("g", {}, canvas);
    this.edgeLayer = svg("g", {}, this.world);
    this.nodeLayer = svg("g", {}, this.world);
    this.nodes = [];
    this.links = [];
    this.byId = new Map();
  }
  load(data) {
    this.data = data;
    [this.W, this.H] = data.size;
    this.edgeLayer.textContent = "";
    this.nodeLayer.textContent = "";
    this.nodes = data.nodes.map((row, i) => this.node(row, i));
    this.byId = new Map(this.nodes.map((n) => [n.id, n]));
    this.links = data.edges.map(([a, b, tip, level]) => this.link(this.nodes[a], this.nodes[b], tip, level));
    for (const n of this.nodes) {
      n.outs = [];
      n.ins = [];
    }
    for (const l of this.links) {
      l.a.outs.push(l);
      l.b.ins.push(l);
    }
    this.colour(this.mode);
    this.widen(this.byBytes);
  }
  node([id, label, tip, count, tones], i) {
    const { W, H } = this,
      g = svg("g", { class: count > 1 ? "node block" : "node", "data-id": id }, this.nodeLayer);
    svg("rect", { x: -W / 2, y: -H / 2, width: W, height: H, rx: 7 }, g);
    if (count > 1)
      svg("rect", { x: -W / 2 + 3, y: -H / 2 + 3, width: W - 6, height: H - 6, rx: 5, class: "inner" }, g);
    const t = svg("text", { "text-anchor": "middle", dy: count > 1 ? "-.12em" : ".35em" }, g);
    if (count > 1)
      svg("text", { "text-anchor": "middle", dy: "1.1em", class: "count" }, g).textContent =
        `${count.toLocaleString("en")} operators`;
    svg("title", {}, g).textContent = tip || label;
    return {
      i,
      id,
      label,
      tip,
      count,
      tones,
      g,
      t,
      x: 0,
      y: 0,
      hx: 0,
      hy: 0,
      column: 0,
      owner: null,
      size: 1,
    };
  }
  link(a, b, tip, level) {
    const p = svg("path", { class: "edge", "marker-end": "url(#head)" }, this.edgeLayer);
    const hit = tip ? svg("path", { class: "hit" }, this.edgeLayer) : null;
    if (hit) svg("title", {}, hit).textContent = tip;
    return { a, b, p, hit, level };
  }
  // Take the places of a layout: [x…, y…, column…].
  arrange([xs, ys, columns]) {
    const { W, H } = this;
    this.columns = [];
    for (const n of this.nodes) {
      n.x = n.hx = xs[n.i];
      n.y = n.hy = ys[n.i];
      n.column = columns[n.i];
      this.columns[n.column] ||= [n.x, n.x];
      const span = this.columns[n.column];
      span[0] = Math.min(span[0], n.x);
      span[1] = Math.max(span[1], n.x);
    }
    const min = (v) => v.reduce((a, b) => Math.min(a, b)),
      max = (v) => v.reduce((a, b) => Math.max(a, b));
    this.box = [min(xs) - W / 2, min(ys) - H / 2, max(xs) + W / 2, max(ys) + H / 2];
  }
  palette(name) {
    const raw = getComputedStyle(this.root).getPropertyValue(`--st-chart-${name}-colors`);
    return raw.split(/,(?![^(]*\))/).map((c) => c.trim());
  }
  // Colours by the mode of that name, else by the first.
  colour(name) {
    const modes = this.data.modes,
      at = Math.max(
        0,
        modes.findIndex((m) => m.name === name),
      );
    const plain = this.palette("categorical"),
      steps = this.palette("sequential");
    this.tone = (c) => (c >= SEQUENTIAL ? steps[c - SEQUENTIAL] : plain[c % 10]) || "gray";
    this.mode = modes[at].name;
    this.scale = modes[at].scale;
    this.legend = modes[at].legend;
    this.canvas.classList.toggle("scaled", !!this.scale);
    for (const n of this.nodes) n.g.style.setProperty("--c", this.tone(n.tones[at]));
  }
  widen(on) {
    this.byBytes = on;
    for (const l of this.links) l.p.style.strokeWidth = on ? `${(1 + 7 * l.level).toFixed(1)}px` : "";
  }
  // The owner's label after merges: a task of several operators says how many.
  relabel(n) {
    const grown = n.owner === n && n.size > 1;
    n.t.textContent = grown ? `${n.size} operators` : short(n.label);
    n.g.classList.toggle("gone", n.owner !== n);
    n.g.classList.toggle("grown", grown);
  }
  put(n) {
    n.g.setAttribute("transform", `translate(${n.x},${n.y})`);
  }
  route() {
    const seen = new Set();
    for (const l of this.links) {
      const pair = l.a.owner.i * this.nodes.length + l.b.owner.i,
        hidden = l.a.owner === l.b.owner || seen.has(pair);
      show(l.p, !hidden);
      if (l.hit) show(l.hit, !hidden);
      if (hidden) continue;
      seen.add(pair);
      const d = this.path(l.a, l.b, this.W / 2, this.H / 2);
      l.p.setAttribute("d", d);
      if (l.hit) l.hit.setAttribute("d", d);
    }
  }
  path(a, b, w, h) {
    const from = a.owner.column,
      to = b.owner.column,
      still = a.x === a.owner.hx && b.x === b.owner.hx;
    if (from !== to && still) return this.wrapped(a, b, w, h, from, to);
    const dx = b.x - a.x,
      dy = b.y - a.y,
      s = Math.sign(dy) || 1;
    if (Math.abs(dy) < 2 * h) {
      const d = Math.sign(dx) || 1;
      return `M${a.x + d * w},${a.y}C${a.x + d * (w + 18)},${a.y} ${b.x - d * (w + 18)},${b.y} ${b.x - d * w},${b.y}`;
    }
    if (Math.abs(dx) < 4 && Math.abs(dy) > 80)
      return `M${a.x + w},${a.y}C${a.x + w + 26},${a.y + 14 * s} ${b.x + w + 26},${b.y - 14 * s} ${b.x + w},${b.y}`;
    const bend = Math.max(12, Math.abs(dy) * 0.4) * s;
    return `M${a.x},${a.y + h * s}C${a.x},${a.y + h * s + bend} ${b.x},${b.y - h * s - bend} ${b.x},${b.y - h * s}`;
  }
  // From one column to another: out below, along a gutter, in from above, so that no node is crossed.
  wrapped(a, b, w, h, from, to) {
    const out = a.y + h + 11,
      into = b.y - h - 11,
      gutter = this.columns[to][0] - w - 24;
    const begin = [
        [a.x, a.y + h],
        [a.x, out],
      ],
      end = [
        [b.x, into],
        [b.x, b.y - h],
      ];
    if (to === from + 1) return rounded([...begin, [gutter, out], [gutter, into], ...end]);
    const right = this.columns[from][1] + w + 14,
      low = this.box[3] + 18;
    return rounded([...begin, [right, out], [right, low], [gutter, low], [gutter, into], ...end]);
  }
  mark(chosen) {
    const c = chosen?.owner;
    for (const n of this.nodes) n.g.classList.toggle("chosen", n === c);
    for (const l of this.links) l.p.classList.toggle("near", !!c && (l.a.owner === c || l.b.owner === c));
  }
  // Nodes that are read by (+1) or feed (−1) a node, those straight ahead first.
  beside(node, way) {
    const found = new Set();
    for (const n of this.nodes) {
      if (n.owner !== node) continue;
      for (const l of way > 0 ? n.outs : n.ins) {
        const o = (way > 0 ? l.b : l.a).owner;
        if (o !== node) found.add(o);
      }
    }
    return [...found].sort((p, q) => Math.abs(p.hx - node.hx) - Math.abs(q.hx - node.hx) || p.i - q.i);
  }
  // The next node to the left (−1) or right (+1) in the same rank.
  sibling(node, way) {
    const row = this.nodes.filter(
      (n) => n.owner === n && n.column === node.column && Math.abs(n.hy - node.hy) < 1,
    );
    row.sort((p, q) => p.hx - q.hx);
    return row[row.indexOf(node) + way] || null;
  }
}
