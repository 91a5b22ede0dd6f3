// Live charts of a simulation: a legend, four canvases. All text via textContent.
const views = new WeakMap();
const DRAW = [overTime, distribution, hits, loads];
// Schedulers that a person hid: they stay hidden when the page draws its charts anew.
const hidden = new Set();

export default function (component) {
  const parent = component.parentElement;
  let view = views.get(parent);
  if (!view) {
    view = new LiveCharts(parent.querySelector(".livechart"));
    views.set(parent, view);
  }
  view.show(component.data);
  return () => {
    view.close();
    views.delete(parent);
  };
}

class LiveCharts {
  constructor(root) {
    this.root = root;
    this.off = hidden;
    this.updates = 0;
    this.legendOf = "";
    root.textContent = "";
    this.legend = html("div", "legend", root);
    this.legend.setAttribute("role", "group");
    this.legend.setAttribute("aria-label", "Schedulers shown");
    const grid = html("div", "grid", root);
    this.panels = DRAW.map((draw) => this.panel(grid, draw));
    this.note = html("div", "note", root);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(grid);
  }

  panel(grid, draw) {
    const figure = html("figure", "", grid),
      title = html("figcaption", "", figure);
    const frame = html("div", "frame", figure),
      canvas = html("canvas", "", frame);
    canvas.setAttribute("role", "img");
    const cursor = html("div", "cursor", frame),
      tip = html("div", "tip", frame),
      panel = { figure, title, canvas, cursor, tip, draw, drawn: { points: [] } };
    canvas.addEventListener("pointermove", (event) => this.point(panel, event));
    canvas.addEventListener("pointerleave", () => {
      tip.hidden = true;
      this.mark(null);
    });
    cursor.hidden = tip.hidden = true;
    return panel;
  }

  close() {
    this.observer.disconnect();
  }

  show(data) {
    const key = JSON.stringify(data);
    this.data = data;
    const begins = { t: [], counts: [], hit_rate: null, busy: null };
    this.series = data.schedulers.map((n) => ({
      name: n,
      style: data.styles[n],
      ...(data.series[n] || begins),
    }));
    this.note.textContent = data.note;
    this.panels.forEach((panel, k) => {
      panel.title.textContent = data.titles[k];
      panel.canvas.setAttribute("aria-label", data.alts[k]);
    });
    this.list();
    this.draw();
    if (key !== this.key) {
      this.key = key;
      this.root.dataset.updates = ++this.updates;
    }
  }

  list() {
    const wanted = JSON.stringify([this.data.schedulers, this.data.styles]);
    if (wanted !== this.legendOf) {
      this.legendOf = wanted;
      this.legend.textContent = "";
      this.buttons = this.data.schedulers.map((name) => this.entry(name));
    }
    for (const { name, button, swatch } of this.buttons) {
      button.setAttribute("aria-pressed", !this.off.has(name));
      this.swatch(swatch, this.data.styles[name]);
    }
  }

  entry(name) {
    const button = html("button", "", this.legend),
      swatch = html("canvas", "", button);
    button.type = "button";
    button.title = "Click: hide or show. Double-click, or the key s: show only this one.";
    html("span", "", button).textContent = name;
    button.addEventListener("click", () => this.toggle(name));
    button.addEventListener("dblclick", () => this.solo(name));
    button.addEventListener("keydown", (event) => {
      if (event.key === "s") this.solo(name);
    });
    return { name, button, swatch };
  }

  toggle(name) {
    if (this.off.has(name)) this.off.delete(name);
    else this.off.add(name);
    this.list();
    this.draw();
  }

  solo(name) {
    const others = this.data.schedulers.filter((n) => n !== name);
    const alone = !this.off.has(name) && others.every((n) => this.off.has(n));
    this.off.clear();
    for (const other of alone ? [] : others) this.off.add(other);
    this.list();
    this.draw();
  }

  swatch(canvas, style) {
    const frame = this.frame(canvas, 26, 12);
    line(frame.context, style, [
      [1, 6],
      [25, 6],
    ]);
    frame.context.clearRect(19, 0, 7, 12);
    marker(frame.context, style, 13, 6, 3.6);
  }

  // A canvas cleared and sized for the screen's pixels.
  frame(canvas, w, h) {
    const ratio = window.devicePixelRatio || 1,
      style = getComputedStyle(this.root);
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
      canvas.style.width = `${w}px`;
      canvas.style.height = `${h}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    const colour = (name) => style.getPropertyValue(name).trim();
    return {
      context,
      w,
      h,
      ink: colour("--ink"),
      faint: colour("--faint"),
      grid: colour("--grid"),
      font: style.fontFamily,
    };
  }

  draw() {
    if (!this.data) return;
    const shown = this.series.filter((s) => !this.off.has(s.name));
    for (const panel of this.panels) {
      const w = panel.canvas.parentElement.clientWidth,
        h = panel.canvas.parentElement.clientHeight;
      if (!w) continue;
      const frame = this.frame(panel.canvas, w, h);
      panel.drawn = shown.length
        ? panel.draw(frame, shown, this.data)
        : waiting(frame, this.series.length ? "All schedulers are hidden." : "No job is complete yet.");
    }
    this.mark(this.jct_s);
  }

  // One response time, marked in every chart that has an axis for it.
  mark(jct_s) {
    this.jct_s = jct_s;
    for (const { canvas, cursor, drawn } of this.panels) {
      const at = jct_s ? drawn.jct?.at(jct_s) : undefined,
        level = drawn.jct?.level;
      const length = level ? canvas.clientHeight : canvas.clientWidth;
      cursor.hidden = !(at >= 0 && at <= length);
      if (cursor.hidden) continue;
      const unit = unitFor(jct_s);
      cursor.textContent = `${digits(jct_s / unit.size)} ${unit.name}`;
      cursor.className = level ? "cursor level" : "cursor";
      cursor.style.left = level ? "" : `${at}px`;
      cursor.style.top = level ? `${at}px` : "";
    }
  }

  point(panel, event) {
    let best = null,
      least = 30 ** 2;
    for (const [x, y, text] of panel.drawn.points) {
      const distance = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
      if (distance < least) {
        least = distance;
        best = [x, y, text];
      }
    }
    const { jct } = panel.drawn;
    const [x, y] = best || [event.offsetX, event.offsetY];
    if (jct) this.mark(jct.of(jct.level ? y : x));
    panel.tip.hidden = !best;
    if (!best) return;
    panel.tip.textContent = best[2];
    const left = best[0] > panel.canvas.clientWidth / 2;
    panel.tip.style.transform = `translate(${left ? "calc(-100% - 10px)" : "10px"}, -50%)`;
    panel.tip.style.left = `${best[0]}px`;
    panel.tip.style.top = `${best[1]}px`;
  }
}
