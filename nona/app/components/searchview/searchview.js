// ESG's search: the tree of paths as it grows, what the blades cut, the best so far. All text via textContent.
const views = new WeakMap();
const W = 70,
  H = 21,
  GAP = 25,
  LEFT = 6;

export default function (component) {
  const root = component.parentElement.querySelector(".searchview");
  let view = views.get(root);
  if (!view) {
    view = new SearchView(root);
    views.set(root, view);
  }
  if (!view.data || view.data.sig !== component.data.sig) view.show(component.data);
  return () => view.stop();
}

class SearchView {
  constructor(root) {
    this.root = root;
    this.at = 0;
    this.timer = 0;
  }
  stop() {
    clearInterval(this.timer);
    this.timer = 0;
  }

  show(data) {
    this.stop();
    this.data = data;
    this.at = data.steps.length ? 1 : 0;
    const root = this.root;
    root.textContent = "";
    for (const k in data.colours) root.style.setProperty(`--${k}`, data.colours[k]);
    this.controls();
    const parts = html("div", "parts", root),
      left = html("div", "box", parts);
    const room = (left.clientWidth || 620) - 22 - LEFT - W;
    this.step = Math.max(118, Math.min(190, room / Math.max(1, data.functions.length)));
    this.heads(left);
    this.frame = html("div", "tree", left);
    this.frame.tabIndex = 0;
    this.grow();
    this.draw();
    this.key(left);
    const side = html("div", "side", parts);
    this.said = html("div", "box", side);
    this.said.setAttribute("aria-live", "polite");
    this.blades(html("div", "box", side));
    const best = html("div", "box", side);
    html("h4", "", best, "The best paths, cheapest first");
    this.best = html("ol", "", best);
    this.go(this.at);
  }

  controls() {
    const bar = html("div", "bar", this.root),
      most = this.data.steps.length;
    const button = (name, path, text, act) => {
      const b = html("button", "", bar);
      b.type = "button";
      b.setAttribute("aria-label", name);
      b.title = name;
      svg("path", { d: path }, svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, b));
      if (text) html("span", "", b, text);
      b.onclick = act;
      return b;
    };
    this.back = button("Step back", "M9 1v10L2 6z", "", () => {
      this.stop();
      this.go(this.at - 1);
    });
    this.forth = button("Step forward", "M3 1v10l7-5z", "", () => {
      this.stop();
      this.go(this.at + 1);
    });
    this.play = button("Play the search", "M2 1v10l5-5zM7 1v10l5-5z", "Play", () => this.toggle());
    this.range = html("input", "", bar);
    this.range.type = "range";
    this.range.min = 0;
    this.range.max = most;
    this.range.step = 1;
    this.range.setAttribute("aria-label", "Step of the search");
    this.range.oninput = () => {
      this.stop();
      this.go(+this.range.value);
    };
    this.out = html("output", "", bar);
  }
  toggle() {
    if (this.timer) {
      this.stop();
      return;
    }
    if (this.at >= this.data.steps.length) this.go(0);
    this.timer = setInterval(() => {
      if (this.at >= this.data.steps.length) this.stop();
      else this.go(this.at + 1);
    }, 450);
  }
  heads(box) {
    const names = this.data.functions,
      heads = html("div", "heads", box);
    heads.style.gridTemplateColumns = `${W}px repeat(${names.length}, ${this.step}px)`;
    heads.style.overflow = "hidden";
    this.headRow = heads;
    html("span", "", heads);
    names.forEach((name) => {
      const s = html("span", "", heads, name);
      html("small", "", s, "jobs·vCPUs·vGPUs");
      s.title = name;
    });
  }

  // Which nodes there are, from which step on, and what was cut below each from which step on.
  grow() {
    this.nodes = new Map();
    this.cuts = [];
    const add = (path, step) => {
      const id = path.join(",");
      if (this.nodes.has(id)) return;
      const node = { id, path, born: step, taken: Infinity, best: 0, kids: [] };
      this.nodes.set(id, node);
      if (path.length) this.nodes.get(path.slice(0, -1).join(",")).kids.push(node);
    };
    const row = (path, r, step) => {
      if (!r) return;
      if (r.opened >= 0) add([...path, r.opened], step);
      if (r.time || r.cost) this.cuts.push({ id: path.join(","), step, time: r.time, cost: r.cost });
    };
    add([], 0);
    row([], this.data.start, 0);
    this.data.steps.forEach((s, k) => {
      const node = this.nodes.get(s.path.join(","));
      if (node) {
        node.taken = k + 1;
        node.best = s.best;
      }
      row(s.path, s.deeper, k + 1);
      row(s.path.slice(0, -1), s.beside, k + 1);
    });
    let y = 0;
    const place = (node) => {
      if (!node.kids.length) {
        node.y = y++ * GAP + GAP / 2;
        return;
      }
      node.kids.forEach(place);
      node.y = (node.kids[0].y + node.kids[node.kids.length - 1].y) / 2;
      if (node.kids.length > 3) node.y = node.kids[0].y;
    };
    place(this.nodes.get(""));
    this.high = Math.max(1, y) * GAP + 4;
  }
  x(node) {
    return node.path.length ? LEFT + W + (node.path.length - 1) * this.step : LEFT;
  }

  draw() {
    const wide = LEFT + W + this.data.functions.length * this.step;
    const s = svg(
      "svg",
      {
        width: wide,
        height: this.high,
        role: "img",
        "aria-label": `Tree of ${this.nodes.size - 1} partial paths`,
      },
      this.frame,
    );
    for (const node of this.nodes.values())
      for (const kid of node.kids) {
        const x1 = this.x(node) + W - 12,
          x2 = this.x(kid),
          m = x2 - 22;
        kid.edge = svg(
          "path",
          {
            class: "edge",
            d: `M${x1} ${node.y}H${m - 14}Q${m} ${node.y} ${m} ${kid.y > node.y ? Math.min(kid.y, node.y + 9) : Math.max(kid.y, node.y - 9)}V${kid.y}H${x2}`,
          },
          s,
        );
      }
    for (const node of this.nodes.values()) {
      const g = svg("g", { class: "n" }, s),
        x = this.x(node),
        root = !node.path.length;
      node.g = g;
      node.w = root ? W - 14 : W;
      svg("rect", { x, y: node.y - H / 2, width: node.w - 2, height: H, rx: 5 }, g);
      svg("text", { x: x + node.w / 2 - 1, y: node.y }, g).textContent = root
        ? "start"
        : this.label(node.path.at(-1))[0];
      svg("title", {}, g).textContent = root
        ? "Nothing chosen yet"
        : node.path.map((n) => this.label(n)[1]).join(" → ");
      const cut = svg("text", { class: "cut", x: x + node.w + 2, y: node.y - (node.kids.length ? 8 : 0) }, g);
      cut.style.textAnchor = "start";
      node.time = svg("tspan", { class: "t" }, cut);
      node.cost = svg("tspan", { class: "c", dx: 5 }, cut);
    }
    this.frame.onscroll = () => {
      this.headRow.scrollLeft = this.frame.scrollLeft;
    };
  }
  label(n) {
    return this.data.labels[n] || [String(n), String(n)];
  }
  key(box) {
    const key = html("div", "key", box);
    for (const [kind, text] of [
      ["", "open"],
      ["later", "still to come"],
      ["taken", "taken and extended"],
      ["best", "among the best, complete"],
    ]) {
      const s = html("span", "", key);
      html("i", kind, s);
      html("b", "", s, text);
    }
    for (const [kind, text] of [
      ["t", "−n: cut by the time blade"],
      ["c", "−n: cut by the cost blade"],
    ])
      html("b", kind, html("span", "", key), text);
    if (this.data.all > this.data.steps.length)
      html(
        "span",
        "",
        key,
        `The first ${this.data.steps.length} of ${this.data.all.toLocaleString("en")} steps; the answer is that of all.`,
      );
  }

  blades(box) {
    html("h4", "", box, "Paths between the blades");
    const steps = this.data.steps,
      s = svg(
        "svg",
        {
          class: "plot",
          viewBox: "0 0 340 200",
          role: "img",
          "aria-label":
            "Least cost against least time of the paths taken so far, the limit of time and the bound of cost",
        },
        box,
      );
    const xs = [...steps.map((p) => p.ms), this.data.limit_ms],
      known = steps.map((p) => p.bound).filter((b) => b !== null),
      ys = [...steps.map((p) => p.cost), ...known];
    const span = (v) => {
      const a = Math.min(...v),
        b = Math.max(...v),
        m = (b - a || b || 1) * 0.12;
      return [a - m, b + m];
    };
    const [x0, x1] = span(xs),
      [y0, y1] = span(ys.length ? ys : [0, 1]);
    this.px = (v) => 44 + (286 * (v - x0)) / (x1 - x0);
    this.py = (v) => 168 - (156 * (v - y0)) / (y1 - y0);
    svg("path", { class: "axis", d: "M44 12V168H330" }, s);
    const text = (x, y, t, anchor, kind) => {
      const e = svg("text", { x, y, "text-anchor": anchor, class: kind || "" }, s);
      e.textContent = t;
      return e;
    };
    text(187, 194, "at least ms", "middle");
    text(44, 182, x0.toFixed(0), "middle");
    text(330, 182, x1.toFixed(0), "end");
    text(40, 168, y0.toFixed(3), "end");
    text(40, 18, y1.toFixed(3), "end");
    text(4, 95, "at", "start");
    text(4, 107, "least", "start");
    text(4, 119, "$ per", "start");
    text(4, 131, "1,000", "start");
    const lx = this.px(this.data.limit_ms);
    svg("line", { class: "limit", x1: lx, x2: lx, y1: 12, y2: 168 }, s);
    text(lx - 4, 162, "time blade", "end", "tt");
    this.bound = svg("line", { class: "bound", x1: 44, x2: 330, y1: 0, y2: 0 }, s);
    this.boundText = text(48, 0, "cost blade", "start", "tc");
    this.dots = steps.map((p) => svg("circle", { cx: this.px(p.ms), cy: this.py(p.cost), r: 4 }, s));
  }

  go(step) {
    const { steps, best } = this.data;
    this.at = Math.max(0, Math.min(steps.length, step));
    const now = this.at,
      current = now ? steps[now - 1] : null,
      id = current ? current.path.join(",") : "";
    this.range.value = now;
    this.out.textContent = `${now} of ${this.data.all}`;
    this.back.disabled = now === 0;
    this.forth.disabled = now >= steps.length;
    const trail = new Set();
    if (current) for (let k = 1; k <= current.path.length; k++) trail.add(current.path.slice(0, k).join(","));
    const sums = new Map();
    for (const c of this.cuts)
      if (c.step <= now) {
        const s = sums.get(c.id) || [0, 0];
        s[0] += c.time;
        s[1] = Math.max(s[1], c.cost);
        sums.set(c.id, s);
      }
    for (const node of this.nodes.values()) {
      const taken = node.taken <= now,
        [t, c] = sums.get(node.id) || [0, 0];
      node.g.setAttribute(
        "class",
        `n ${node.born > now ? "future" : taken && node.best ? "best" : taken || !node.path.length ? "taken" : ""} ${node.id === id && current ? "current" : ""}`,
      );
      node.time.textContent = t ? `−${t.toLocaleString("en")}` : "";
      node.cost.textContent = c ? `−${c.toLocaleString("en")}` : "";
      if (node.edge) {
        node.edge.style.opacity = node.born > now ? 0.22 : 1;
        node.edge.classList.toggle("on", trail.has(node.id));
      }
    }
    this.said.textContent = "";
    const lines = current
      ? current.lines
      : ["Nothing is chosen yet. Every step takes the open path with the least possible cost."];
    for (const line of lines) html("p", "", this.said, line);
    for (const [k, s] of steps.entries())
      this.dots[k].setAttribute("class", `dot ${s.best ? "best" : ""} ${k + 1 === now ? "current" : ""}`);
    this.dots.forEach((d, k) => {
      d.style.opacity = k < now ? 1 : 0;
    });
    const bound = current ? current.bound : null;
    for (const e of [this.bound, this.boundText]) e.style.opacity = bound === null ? 0 : 1;
    if (bound !== null) {
      const y = this.py(bound);
      this.bound.setAttribute("y1", y);
      this.bound.setAttribute("y2", y);
      this.boundText.setAttribute("y", y - 4);
    }
    this.list(best, steps.slice(0, now).filter((s) => s.best).length);
    this.follow(current ? this.nodes.get(id) : null);
  }
  list(best, done) {
    this.best.textContent = "";
    if (!best.length) html("li", "", this.best, "No path is in time.");
    best.forEach((b, k) => {
      const li = html("li", k < done ? "" : "later", this.best);
      html("span", "", li, b.path.map((n) => this.label(n)[0]).join(" → "));
      html(
        "small",
        "",
        li,
        `  ${b.ms.toFixed(1)} ms, $${b.cost.toFixed(4)}${k < done ? "" : " (found later)"}`,
      );
    });
  }
  follow(node) {
    if (!node) {
      this.frame.scrollTop = 0;
      return;
    }
    const f = this.frame,
      y = node.y,
      x = this.x(node);
    if (y < f.scrollTop + 20 || y > f.scrollTop + f.clientHeight - 30) f.scrollTop = y - f.clientHeight / 2;
    if (x < f.scrollLeft || x + W > f.scrollLeft + f.clientWidth) f.scrollLeft = x - f.clientWidth / 2;
  }
}
