// The network story: three Gantt charts of one query, and the JCT over the link's load. No libraries.
const PLAYED_MS = 2600;
const ICONS = { play: "M7 4v16l13-8z", pause: "M6 5h4v14H6zM14 5h4v14h-4z" };
const stories = new WeakMap();

export default function (component) {
  const root = component.parentElement.querySelector(".story");
  let story = stories.get(component.parentElement);
  if (!story) {
    story = new Story(root);
    stories.set(component.parentElement, story);
  }
  story.tell = component.setStateValue;
  story.show(component.data);
  return () => {
    story.close();
    stories.delete(component.parentElement);
  };
}

function ms(value) {
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(value % 1 < 0.05 || value % 1 > 0.95 ? 0 : 1)} ms`;
}

// How long messages waited: the stretches in which one did, and, where several did at once, the sum.
function waited(blocks) {
  const waits = blocks
    .filter((b) => b.what === "message" && b.start_ms - b.asked_ms > 0.02)
    .sort((a, b) => a.asked_ms - b.asked_ms);
  let sum = 0,
    spent = 0,
    until = Number.NEGATIVE_INFINITY;
  for (const { asked_ms, start_ms } of waits) {
    sum += start_ms - asked_ms;
    spent += Math.max(0, start_ms - Math.max(asked_ms, until));
    until = Math.max(until, start_ms);
  }
  if (sum <= 0.05) return "";
  const found = `; during ${spent.toFixed(1)}\u00a0ms of this query a message waited for the link`;
  if (sum - spent < 0.05) return found;
  return `${found} (${sum.toFixed(1)}\u00a0ms summed over ${waits.length} messages, some at the same time)`;
}

class Story {
  constructor(root) {
    this.root = root;
    this.at = 0;
    this.now = Infinity;
    root.textContent = "";
    this.headline = html("p", "headline", root);
    this.headline.setAttribute("aria-live", "polite");
    const bar = html("div", "bar", root);
    this.button = html("button", "", bar);
    this.button.type = "button";
    this.button.onclick = () => this.toggle();
    this.icon = svg(
      "path",
      {},
      svg("svg", { viewBox: "0 0 24 24", width: 18, height: 18, fill: "currentColor" }, this.button),
    );
    const label = html("label", "", bar, "Link taken by others");
    this.range = html("input", "", label);
    this.range.type = "range";
    this.range.min = 0;
    this.range.step = 1;
    this.range.setAttribute("aria-label", "Share of the link that others use");
    this.range.oninput = () => this.go(+this.range.value);
    this.range.onchange = () => this.tell("load", this.points[this.at].load);
    this.share = html("output", "", bar);
    this.panels = html("div", "panels", root);
    this.curve = new Curve(html("div", "curve", root), (i) => {
      this.range.value = i;
      this.go(i);
      this.range.onchange();
    });
    this.sign(false);
    this.observer = new ResizeObserver(() => this.points && this.draw());
    this.observer.observe(root);
  }
  close() {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
  }

  show(data) {
    if (this.data) return; // it does not change
    this.data = data;
    this.points = data.points;
    this.range.max = data.points.length - 1;
    this.charts = data.order.map(
      (name) => new Gantt(html("section", "panel", this.panels), name, data.looks[name], data.longest_ms),
    );
    this.range.value = 0;
    this.draw();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
  }
  go(index) {
    this.at = index;
    this.range.value = this.at;
    this.stop();
    this.draw();
  }
  draw() {
    const point = this.points[this.at],
      longest = Math.max(...this.data.order.map((n) => point.runs[n].jct_ms));
    this.headline.textContent = point.headline;
    this.share.textContent = `${Math.round(100 * point.load)} %`;
    this.range.setAttribute("aria-valuetext", `${Math.round(100 * point.load)} per cent`);
    const best = Math.min(...this.data.order.map((n) => point.runs[n].mean_ms));
    for (const chart of this.charts)
      chart.draw(point.runs[chart.name], Math.max(longest, this.data.longest_ms) * 1.04, best);
    for (const chart of this.charts) chart.moveTo(this.now);
    this.curve.draw(this.data, this.at);
  }
  sign(playing) {
    this.icon.setAttribute("d", playing ? ICONS.pause : ICONS.play);
    const said = playing ? "Pause" : "Play one query";
    this.button.title = said;
    this.button.setAttribute("aria-label", said);
  }
  toggle() {
    this.playing ? this.stop() : this.play();
  }
  stop() {
    cancelAnimationFrame(this.frame);
    this.playing = false;
    this.now = Infinity;
    this.sign(false);
    for (const c of this.charts) c.moveTo(this.now);
  }
  play() {
    this.playing = true;
    this.sign(true);
    const longest = Math.max(...this.charts.map((c) => c.run.jct_ms)),
      begin = performance.now();
    const tick = (t) => {
      this.now = ((t - begin) / PLAYED_MS) * longest;
      if (this.now > longest) return this.stop();
      for (const c of this.charts) c.moveTo(this.now);
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }
}

// One query under one strategy: lanes for the servers and the link, blocks that grow with time.
class Gantt {
  constructor(root, name, look) {
    this.name = name;
    this.look = look;
    root.style.setProperty("--c", look.colour);
    const head = html("header", "", root);
    html("h4", "", head, look.title);
    this.value = html("strong", "", head);
    html("p", "", root, look.about);
    this.box = html("div", "box", root);
    this.root = root;
    this.note = html("small", "", root);
  }
  draw(run, span, best) {
    this.run = run;
    this.box.textContent = "";
    const lanes = ["A", "B", "C", "link"],
      w = Math.max(200, this.box.clientWidth || 260),
      left = 34,
      top = 4,
      row = 27;
    const x = (t) => left + ((w - left - 6) * t) / span,
      high = top + row * lanes.length;
    const g = svg(
      "svg",
      { width: w, height: high + 22, role: "img", "aria-label": this.told(run) },
      this.box,
    );
    lanes.forEach((lane, i) => {
      svg(
        "rect",
        { class: `lane ${lane}`, x: left, y: top + i * row + 2, width: w - left - 6, height: row - 4, rx: 4 },
        g,
      );
      svg("text", { x: left - 6, y: top + i * row + row / 2, class: "name" }, g).textContent = lane;
    });
    const step = span > 80 ? 20 : 10;
    for (let t = 0; t <= span; t += step) {
      svg("line", { class: "grid", x1: x(t), x2: x(t), y1: top, y2: high }, g);
      svg("text", { class: "tick", x: x(t), y: high + 15 }, g).textContent = t ? `${t}` : "0 ms";
    }
    this.blocks = [];
    for (const b of run.blocks) {
      const y = top + Math.max(0, lanes.indexOf(b.lane)) * row + 4,
        h = row - 8;
      if (b.what === "message" && b.start_ms - b.asked_ms > 0.02)
        this.block("wait", b.asked_ms, b.start_ms, x, y + h / 2 - 1.5, 3, g);
      this.block(b.what, b.start_ms, b.end_ms, x, y, h, g, b);
    }
    this.end = svg("line", { class: "end", x1: x(run.jct_ms), x2: x(run.jct_ms), y1: top - 2, y2: high }, g);
    this.head = svg("line", { class: "now", y1: top - 2, y2: high }, g);
    this.x = x;
    this.value.textContent = ms(run.mean_ms);
    this.root.classList.toggle("best", run.mean_ms <= best * 1.0001);
    const half = run.half_ms >= 0.05 ? ` ± ${run.half_ms.toFixed(1)}` : "";
    this.note.textContent =
      `mean of the simulation ${run.mean_ms.toFixed(1)}${half}\u00a0ms` +
      (run.predicted_ms ? `, formula ${run.predicted_ms.toFixed(1)}\u00a0ms` : "") +
      waited(run.blocks);
  }
  block(kind, from, to, x, y, h, parent, b) {
    const r = svg(
      "rect",
      {
        class: kind,
        x: x(from),
        y,
        height: h,
        rx: kind === "wait" ? 1 : 4,
        width: Math.max(0, x(to) - x(from)),
      },
      parent,
    );
    let t = null;
    if (b) {
      svg("title", {}, r).textContent =
        `${b.what === "task" ? "task" : "message"} ${b.label}: ${from.toFixed(2)} to ${to.toFixed(2)} ms`;
      if (b.what === "task" && x(to) - x(from) > 9) {
        t = svg("text", { class: "in", x: (x(from) + x(to)) / 2, y: y + h / 2 }, parent);
        t.textContent = b.label;
      }
    }
    this.blocks.push({ r, t, from, to });
  }
  moveTo(now) {
    for (const { r, t, from, to } of this.blocks) {
      r.setAttribute("width", Math.max(0, this.x(Math.min(now, to)) - this.x(from)) * (now > from));
      if (t) t.style.opacity = now >= (from + to) / 2 ? 1 : 0;
    }
    const running = now < this.run.jct_ms;
    this.head.style.display = running ? "" : "none";
    this.end.style.display = running ? "none" : "";
    if (running) {
      this.head.setAttribute("x1", this.x(now));
      this.head.setAttribute("x2", this.x(now));
    }
    this.root.classList.toggle("done", !running);
  }
  told(run) {
    return (
      `${this.look.title}: ` +
      run.blocks
        .map(
          (b) =>
            `${b.what} ${b.label} on ${b.lane} from ${b.start_ms.toFixed(1)} to ${b.end_ms.toFixed(1)} ms`,
        )
        .join("; ")
    );
  }
}
