// A DAG as SVG: pan, zoom, select, and playback of merges. No libraries; all text via textContent.
const NS = "http://www.w3.org/2000/svg";
const views = new WeakMap();
const ICONS = {
  play: "M7 4v16l13-8z", pause: "M6 5h4v14H6zM14 5h4v14h-4z", back: "M6 5h2v14H6zM20 5v14L9 12z",
  next: "M16 5h2v14h-2zM4 5v14l11-7z", plus: "M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z", minus: "M5 11h14v2H5z",
  fit: "M4 9V4h5v2H6v3zm11-5h5v5h-2V6h-3zM4 15h2v3h3v2H4zm14 0h2v5h-5v-2h3z",
};

export default function (component) {
  const root = component.parentElement.querySelector(".dagview");
  let view = views.get(component.parentElement);
  if (!view) { view = new View(root); views.set(component.parentElement, view); }
  view.tell = component.setStateValue;
  view.show(component.data);
  return () => { view.close(); views.delete(component.parentElement); };
}

function svg(name, attributes, parent) {
  const e = document.createElementNS(NS, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (parent) parent.appendChild(e);
  return e;
}
function html(name, className, parent) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (parent) parent.appendChild(e);
  return e;
}

class View {
  constructor(root) {
    this.root = root; this.k = 1; this.x = 0; this.y = 0; this.step = 0; this.chosen = null; this.pointers = new Map();
    root.textContent = "";
    this.legend = html("div", "legend", root);
    this.stage = html("div", "stage", root);
    this.canvas = svg("svg", { class: "canvas", tabindex: 0, role: "application" }, this.stage);
    const marker = svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("defs", {}, this.canvas));
    svg("path", { d: "M0,0L8,4L0,8z", class: "head" }, marker);
    this.world = svg("g", {}, this.canvas);
    this.edgeLayer = svg("g", {}, this.world); this.nodeLayer = svg("g", {}, this.world);
    this.why = html("div", "why", root);
    this.why.setAttribute("aria-live", "polite");
    this.bar = html("div", "bar", root);
    this.back = this.button("back", "Step back", () => this.move(-1));
    this.playing = this.button("play", "Play", () => this.toggle());
    this.next = this.button("next", "Step forward", () => this.move(1));
    this.range = html("input", "", this.bar); this.range.type = "range"; this.range.min = 0; this.range.setAttribute("aria-label", "Contraction step");
    this.range.oninput = () => { this.pause(false); this.go(+this.range.value); };
    this.range.onchange = () => this.tell("step", this.step);
    this.label = html("output", "", this.bar);
    this.space = html("div", "space", this.bar);
    this.button("minus", "Zoom out", () => this.zoomMiddle(1 / 1.4));
    this.button("plus", "Zoom in", () => this.zoomMiddle(1.4));
    this.button("fit", "Fit to view", () => { this.touched = false; this.fit(); });
    this.listen();
    this.observer = new ResizeObserver(() => { this.measure(); if (this.data && this.w && !this.touched) this.fit(); });
    this.observer.observe(this.stage);
  }
  button(icon, label, onclick) {
    const b = html("button", "", this.bar);
    b.type = "button"; b.title = label; b.setAttribute("aria-label", label); b.onclick = onclick;
    svg("path", { d: ICONS[icon] }, svg("svg", { viewBox: "0 0 24 24", width: 16, height: 16, fill: "currentColor" }, b));
    return b;
  }
  icon(b, name, label) { b.querySelector("path").setAttribute("d", ICONS[name]); b.title = label; b.setAttribute("aria-label", label); }
  close() { this.pause(false); cancelAnimationFrame(this.frame); this.observer.disconnect(); }
  measure() { const r = this.stage.getBoundingClientRect(); this.w = r.width; this.h = r.height; }

  listen() {
    const c = this.canvas, at = (ev) => { const r = c.getBoundingClientRect(); return [ev.clientX - r.left, ev.clientY - r.top]; };
    c.addEventListener("wheel", (ev) => { ev.preventDefault(); this.zoom(...at(ev), Math.exp(-ev.deltaY * 0.0015)); }, { passive: false });
    c.addEventListener("pointerdown", (ev) => { this.pointers.set(ev.pointerId, at(ev)); this.dragged = 0; });
    c.addEventListener("pointermove", (ev) => {
      const old = this.pointers.get(ev.pointerId); if (!old) return;
      const now = at(ev), others = [...this.pointers].filter(([id]) => id !== ev.pointerId);
      this.dragged += Math.hypot(now[0] - old[0], now[1] - old[1]);
      if (this.dragged < 4) return;
      if (!c.hasPointerCapture(ev.pointerId)) c.setPointerCapture(ev.pointerId);
      this.touched = true;
      if (others.length) {
        const o = others[0][1], f = Math.hypot(now[0] - o[0], now[1] - o[1]) / Math.max(1, Math.hypot(old[0] - o[0], old[1] - o[1]));
        this.zoom(o[0], o[1], f);
      } else { this.x += now[0] - old[0]; this.y += now[1] - old[1]; this.place(); }
      this.pointers.set(ev.pointerId, now);
    });
    const up = (ev) => this.pointers.delete(ev.pointerId);
    c.addEventListener("pointerup", up); c.addEventListener("pointercancel", up);
    c.addEventListener("click", (ev) => {
      if (this.dragged >= 4) return;
      const g = ev.target.closest("g[data-id]"); this.choose(g ? this.byId.get(g.dataset.id) : null);
    });
    c.addEventListener("keydown", (ev) => { if (this.key(ev.key)) { ev.preventDefault(); ev.stopPropagation(); } });
  }
  key(k) {
    const played = this.steps.length > 0, pan = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] }[k];
    if (k === "+" || k === "=") this.zoomMiddle(1.4);
    else if (k === "-") this.zoomMiddle(1 / 1.4);
    else if (k === "0") { this.touched = false; this.fit(); }
    else if (k === "Escape") this.choose(null);
    else if (k === " " && played) this.toggle();
    else if (k === "Home" && played) this.jump(0);
    else if (k === "End" && played) this.jump(this.steps.length);
    else if (played && (k === "ArrowLeft" || k === "ArrowRight")) this.move(k === "ArrowLeft" ? -1 : 1);
    else if (this.chosen && (k === "ArrowUp" || k === "ArrowDown")) {
      const e = this.links.find((l) => (k === "ArrowDown" ? l.a.owner === this.chosen : l.b.owner === this.chosen) && l.a.owner !== l.b.owner);
      if (e) this.choose(k === "ArrowDown" ? e.b.owner : e.a.owner);
    } else if (pan) { this.touched = true; this.x += pan[0]; this.y += pan[1]; this.place(); }
    else return false;
    return true;
  }

  show(data) {
    this.root.style.height = `${data.height}px`;
    if (this.data && this.data.sig === data.sig) return;
    this.pause(false); this.data = data; this.steps = data.steps; this.touched = false; this.chosen = null;
    this.edgeLayer.textContent = ""; this.nodeLayer.textContent = ""; this.legend.textContent = "";
    const [W, H] = data.size, colour = (i) => this.palette()[i % 10] || "gray";
    for (const [text, c] of data.legend) { const s = html("span", "", this.legend); html("i", "", s).style.setProperty("--c", colour(c)); s.append(text); }
    this.columns = [];
    this.nodes = data.nodes.map(([id, label, x, y, column, c, tip]) => {
      const g = svg("g", { class: "node", "data-id": id }, this.nodeLayer);
      g.style.setProperty("--c", colour(c));
      svg("rect", { x: -W / 2, y: -H / 2, width: W, height: H, rx: 7 }, g);
      const t = svg("text", { "text-anchor": "middle", dy: ".35em" }, g); t.textContent = short(label);
      svg("title", {}, g).textContent = tip || label;
      const span = this.columns[column] || (this.columns[column] = [x, x, y]);
      span[0] = Math.min(span[0], x); span[1] = Math.max(span[1], x); span[2] = Math.max(span[2], y);
      return { id, label, x, y, hx: x, hy: y, column, g, t, owner: null, size: 1 };
    });
    this.byId = new Map(this.nodes.map((n) => [n.id, n]));
    this.links = data.edges.map(([a, b]) => ({ a: this.nodes[a], b: this.nodes[b], p: svg("path", { class: "edge", "marker-end": "url(#head)" }, this.edgeLayer) }));
    const xs = this.nodes.map((n) => n.x), ys = this.nodes.map((n) => n.y), min = (v) => v.reduce((a, b) => Math.min(a, b)), max = (v) => v.reduce((a, b) => Math.max(a, b));
    this.box = [min(xs) - W / 2, min(ys) - H / 2, max(xs) + W / 2, max(ys) + H / 2];
    const played = this.steps.length > 0;
    for (const e of [this.back, this.playing, this.next, this.range, this.label, this.why]) e.style.display = played ? "" : "none";
    this.space.style.display = played ? "none" : ""; this.bar.classList.toggle("alone", !played);
    this.range.max = this.steps.length; this.canvas.setAttribute("aria-label", `Graph of ${this.nodes.length} nodes`);
    this.go(0, true); this.measure(); if (this.w) this.fit();
  }
  palette() {
    const raw = getComputedStyle(this.root).getPropertyValue("--st-chart-categorical-colors");
    return raw.split(/,(?![^(]*\))/).map((c) => c.trim());
  }

  // Who owns whom after `step` merges: union-find over the steps, each owner being the merged-into node.
  own(step) {
    const up = this.nodes.map((_, i) => i), find = (i) => { while (up[i] !== i) { up[i] = up[up[i]]; i = up[i]; } return i; };
    for (let s = 0; s < step; s++) { const a = find(this.steps[s][0]), b = find(this.steps[s][1]); if (a !== b) up[b] = a; }
    for (const n of this.nodes) n.size = 0;
    this.nodes.forEach((n, i) => { n.owner = this.nodes[find(i)]; n.owner.size++; });
  }
  go(step, instant) {
    this.step = Math.max(0, Math.min(this.steps.length, step)); this.own(this.step);
    const last = this.step ? this.nodes[this.steps[this.step - 1][0]].owner : null;
    for (const n of this.nodes) {
      const leads = n.owner === n;
      n.g.classList.toggle("gone", !leads); n.g.classList.toggle("grown", leads && n.size > 1); n.g.classList.toggle("fresh", n === last);
      n.t.textContent = leads && n.size > 1 ? `${n.size} operators` : short(n.label);
      n.from = [n.x, n.y]; n.to = [n.owner.hx, n.owner.hy];
    }
    this.range.value = this.step; this.label.textContent = `step ${this.step} / ${this.steps.length}`;
    this.why.textContent = this.step ? this.steps[this.step - 1][2] : "Every operator by itself. Press play, or step forward.";
    this.back.disabled = this.step === 0; this.next.disabled = this.step === this.steps.length;
    this.mark(); this.animate(instant || matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 320);
  }
  animate(duration) {
    cancelAnimationFrame(this.frame); this.canvas.classList.toggle("moving", duration > 0);
    const begin = performance.now(), tick = (now) => {
      const u = duration ? Math.min(1, Math.max(0, (now - begin) / duration)) : 1, e = u * u * (3 - 2 * u);
      for (const n of this.nodes) {
        n.x = n.from[0] + (n.to[0] - n.from[0]) * e; n.y = n.from[1] + (n.to[1] - n.from[1]) * e;
        n.g.setAttribute("transform", `translate(${n.x},${n.y})`);
      }
      this.route(); if (u < 1) this.frame = requestAnimationFrame(tick);
    };
    if (duration) this.frame = requestAnimationFrame(tick); else tick(begin);
  }
  route() {
    const [W, H] = this.data.size, seen = new Set();
    for (const l of this.links) {
      const pair = `${l.a.owner.id}\u0000${l.b.owner.id}`, hidden = l.a.owner === l.b.owner || seen.has(pair);
      l.p.style.display = hidden ? "none" : ""; if (hidden) continue;
      seen.add(pair); l.p.setAttribute("d", this.path(l.a, l.b, W / 2, H / 2));
    }
  }
  path(a, b, w, h) {
    const from = a.owner.column, to = b.owner.column, still = a.x === a.to[0] && b.x === b.to[0];
    if (from !== to && still) return this.wrapped(a, b, w, h, from, to);
    const dx = b.x - a.x, dy = b.y - a.y, s = Math.sign(dy) || 1;
    if (Math.abs(dy) < 2 * h) { const d = Math.sign(dx) || 1; return `M${a.x + d * w},${a.y}C${a.x + d * (w + 18)},${a.y} ${b.x - d * (w + 18)},${b.y} ${b.x - d * w},${b.y}`; }
    if (Math.abs(dx) < 4 && Math.abs(dy) > 80) return `M${a.x + w},${a.y}C${a.x + w + 26},${a.y + 14 * s} ${b.x + w + 26},${b.y - 14 * s} ${b.x + w},${b.y}`;
    const bend = Math.max(12, Math.abs(dy) * 0.4) * s;
    return `M${a.x},${a.y + h * s}C${a.x},${a.y + h * s + bend} ${b.x},${b.y - h * s - bend} ${b.x},${b.y - h * s}`;
  }
  // From one column to another: out below, along a gutter, in from above, so that no node is crossed.
  wrapped(a, b, w, h, from, to) {
    const out = a.y + h + 11, into = b.y - h - 11, gutter = this.columns[to][0] - w - 24;
    const begin = [[a.x, a.y + h], [a.x, out]], end = [[b.x, into], [b.x, b.y - h]];
    if (to === from + 1) return rounded([...begin, [gutter, out], [gutter, into], ...end]);
    const right = this.columns[from][1] + w + 14, low = this.box[3] + 18;
    return rounded([...begin, [right, out], [right, low], [gutter, low], [gutter, into], ...end]);
  }

  move(by) { this.jump(this.step + by); }
  jump(step) { this.pause(false); this.go(step); this.tell("step", this.step); }
  toggle() {
    if (this.timer) { this.pause(true); return; }
    if (this.step === this.steps.length) this.go(0);
    this.icon(this.playing, "pause", "Pause");
    const beat = Math.max(60, Math.min(650, 12000 / this.steps.length));
    this.timer = setInterval(() => {
      this.go(this.step + 1, beat < 200);
      if (this.step === this.steps.length) this.pause(true);
    }, beat);
  }
  pause(say) {
    if (!this.timer) return;
    clearInterval(this.timer); this.timer = null; this.icon(this.playing, "play", "Play");
    if (say) this.tell("step", this.step);
  }
  choose(node) { this.chosen = node; this.mark(); this.tell("selected", node ? node.id : null); }
  mark() {
    const c = this.chosen && this.chosen.owner;
    for (const n of this.nodes) n.g.classList.toggle("chosen", n === c);
    for (const l of this.links) l.p.classList.toggle("near", !!c && (l.a.owner === c || l.b.owner === c));
  }
  place() { this.world.setAttribute("transform", `translate(${this.x},${this.y}) scale(${this.k})`); this.canvas.classList.toggle("far", this.k < 0.3); }
  zoom(px, py, f) { const k = Math.max(0.02, Math.min(4, this.k * f)); this.touched = true; this.x = px - ((px - this.x) * k) / this.k; this.y = py - ((py - this.y) * k) / this.k; this.k = k; this.place(); }
  zoomMiddle(f) { this.zoom(this.w / 2, this.h / 2, f); }
  fit() {
    const [x0, y0, x1, y1] = this.box;
    this.k = Math.min(this.w / (x1 - x0 + 90), this.h / (y1 - y0 + 70), 1.4);
    this.x = (this.w - (x0 + x1) * this.k) / 2; this.y = (this.h - (y0 + y1) * this.k) / 2; this.place();
  }
}
function short(text) { return text.length > 16 ? text.slice(0, 15) + "…" : text; }
// A path through points at right angles, with round corners.
function rounded(points) {
  let d = `M${points[0]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [p, c, n] = [points[i - 1], points[i], points[i + 1]], toward = (q) => {
      const length = Math.hypot(q[0] - c[0], q[1] - c[1]) || 1, r = Math.min(7, length / 2);
      return [c[0] + ((q[0] - c[0]) / length) * r, c[1] + ((q[1] - c[1]) / length) * r];
    };
    d += `L${toward(p)}Q${c} ${toward(n)}`;
  }
  return `${d}L${points[points.length - 1]}`;
}
