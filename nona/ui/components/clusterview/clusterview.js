// The training cluster while it runs: mean JCT and jobs of each policy so far, and who had which GPU lately.
const views = new WeakMap();

export default function (component) {
  const root = component.parentElement.querySelector(".clusterview");
  let view = views.get(root);
  if (!view) {
    view = new Cluster(root);
    views.set(root, view);
  }
  view.show(component.data);
}

class Cluster {
  constructor(root) {
    this.root = root;
    this.shape = "";
    this.updates = 0;
  }

  // Elements are made once for each shape of data, and only changed afterwards: nothing flickers.
  show(data) {
    const shape = JSON.stringify([
      data.policies.map((p) => [p.name, p.colour]),
      data.lanes.map((l) => l.name),
      data.nodes.map((n) => [n.name, n.gpus.length]),
      data.charts.map((c) => [c.title, c.lines.map(([colour]) => colour)]),
      data.told !== "",
    ]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(data);
    }
    if (this.fill) {
      this.fill.style.width = `${100 * data.fraction}%`;
      this.track.setAttribute("aria-valuenow", Math.round(100 * data.fraction));
      this.told.textContent = data.told;
    }
    for (const [k, p] of data.policies.entries()) this.policy(this.rows[k], p);
    for (const [k, c] of data.charts.entries()) this.chart(this.charts[k], c);
    for (const [k, l] of data.lanes.entries()) this.lane(this.lanes[k], l.bars);
    for (const [k, n] of data.nodes.entries()) this.node(this.nodes[k], n.gpus);
    if (this.ends) for (const [k, text] of data.span.entries()) this.ends[k].textContent = text;
    if (this.policies) this.policies.setAttribute("aria-label", data.alts[0]);
    if (this.gpus) {
      this.now.textContent = data.now;
      this.more.textContent = data.more;
      this.gpus.setAttribute("aria-label", data.alts[1]);
    }
    this.root.dataset.updates = ++this.updates;
  }

  build(data) {
    this.root.textContent = "";
    this.fill = this.policies = this.gpus = this.ends = null;
    if (data.told !== "") this.progress();
    if (data.policies.length) this.table(data.policies);
    this.charts = data.charts.length ? this.measures(data.charts) : [];
    if (!data.lanes.length && !data.nodes.length) return;
    this.gpus = this.panel("GPUs by job ");
    this.now = html("small", "", this.gpus.firstChild);
    this.lanes = data.lanes.map((l) => {
      const lane = html("div", "lane", this.gpus);
      html("span", "", lane, l.name);
      return html("div", "", lane);
    });
    if (data.lanes.length) {
      const ends = html("div", "ends", this.gpus);
      this.ends = [html("span", "", ends), html("span", "", ends)];
    }
    const grid = data.nodes.length ? html("div", "nodes", this.gpus) : null;
    this.nodes = data.nodes.map((n) => {
      const node = html("div", "node", grid);
      html("span", "", node, n.name);
      const cells = html("div", "cells", node);
      return n.gpus.map(() => html("i", "", cells));
    });
    this.more = html("div", "more", this.gpus);
  }
  progress() {
    const progress = html("div", "progress", this.root);
    this.track = html("div", "track", progress);
    this.track.setAttribute("role", "progressbar");
    this.track.setAttribute("aria-label", "Training run");
    this.fill = html("div", "fill", this.track);
    this.told = html("div", "told", progress);
  }
  table(policies) {
    this.policies = this.panel("Policies so far");
    const head = html("div", "policy head", this.policies);
    html("span", "", head);
    html("span", "curve", head, "mean JCT over time");
    for (const text of ["mean JCT", "run", "wait", "done"]) html("span", "number", head, text);
    this.rows = policies.map((p) => this.row(p));
  }
  measures(charts) {
    const row = html("div", "charts", this.root);
    return charts.map((c) => {
      const section = html("section", "", row);
      section.setAttribute("role", "img");
      const value = html("small", "", html("h4", "", section, `${c.title} `));
      const s = svg("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none" }, section);
      const lines = c.lines.map(([colour]) => {
        const line = svg("polyline", { class: "line" }, s);
        line.style.setProperty("--c", colour);
        return line;
      });
      return { section, value, lines };
    });
  }
  panel(title) {
    const section = html("section", "", this.root);
    section.setAttribute("role", "img");
    html("h4", "", section, title);
    return section;
  }
  row(p) {
    const row = html("div", "policy", this.policies);
    row.style.setProperty("--c", p.colour);
    const b = html("b", "", row);
    html("i", "", b);
    html("span", "", b, p.name);
    const s = svg("svg", { viewBox: "0 0 100 26", preserveAspectRatio: "none" }, row);
    const line = svg("polyline", { class: "line" }, s);
    return { row, line, numbers: [0, 1, 2, 3].map(() => html("span", "number", row)) };
  }

  policy(of, p) {
    of.row.classList.toggle("waiting", !p.started);
    const texts = [p.mean, p.running, p.waiting, p.completed];
    for (const [k, text] of texts.entries()) of.numbers[k].textContent = p.started ? text : "–";
    of.line.setAttribute(
      "points",
      p.curve.map(([x, y]) => `${(100 * x).toFixed(2)},${(25 - 24 * y).toFixed(2)}`).join(" "),
    );
  }
  chart(of, c) {
    of.value.textContent = c.value;
    of.section.setAttribute("aria-label", `${c.title}: ${c.value}`);
    for (const [k, [, points]] of c.lines.entries())
      of.lines[k].setAttribute(
        "points",
        points.map(([x, y]) => `${(100 * x).toFixed(2)},${(39 - 37 * y).toFixed(2)}`).join(" "),
      );
  }
  node(cells, gpus) {
    for (const [k, [colour, told]] of gpus.entries()) {
      cells[k].style.background = colour;
      cells[k].classList.toggle("busy", colour !== "");
      cells[k].textContent = told;
      cells[k].title = told === "" ? "free" : `job ${told}`;
    }
  }
  lane(of, bars) {
    while (of.childElementCount > bars.length) of.lastChild.remove();
    while (of.childElementCount < bars.length) html("i", "", of);
    for (const [k, [start, end, colour, told]] of bars.entries()) {
      const bar = of.children[k];
      bar.style.left = `${(100 * start).toFixed(3)}%`;
      bar.style.width = `${(100 * (end - start)).toFixed(3)}%`;
      bar.style.background = colour;
      bar.title = told;
    }
  }
}
