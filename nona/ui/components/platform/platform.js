// The platform while it runs: hit rate and cost of each policy, jobs in every queue, what each node has handed out.
const views = new WeakMap();

export default function (component) {
  const root = component.parentElement.querySelector(".platform");
  let view = views.get(root);
  if (!view) {
    view = new Platform(root);
    views.set(root, view);
  }
  view.show(component.data);
}

class Platform {
  constructor(root) {
    this.root = root;
    this.shape = "";
    this.updates = 0;
  }

  // Elements are made once for each shape of data, and only changed afterwards: nothing flickers.
  show(data) {
    const shape = JSON.stringify([
      data.policies.map((p) => [p.name, p.colour]),
      data.queues.map((q) => [q.application, q.stages]),
      data.nodes.map((n) => [n.vcpus, n.vgpus]),
    ]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(data);
    }
    this.fill.style.width = `${100 * data.fraction}%`;
    this.track.setAttribute("aria-valuenow", Math.round(100 * data.fraction));
    this.told.textContent = data.told;
    for (const [k, p] of data.policies.entries()) this.policy(this.rows[k], p);
    this.now.forEach((e) => {
      e.textContent = data.now;
    });
    const most = Math.max(4, ...data.queues.flatMap((q) => q.jobs));
    for (const [a, q] of data.queues.entries())
      for (const [s, jobs] of q.jobs.entries()) {
        const bar = this.bars[a][s];
        bar.fill.style.width = `${(100 * jobs) / most}%`;
        bar.number.textContent = jobs;
      }
    for (const [k, n] of data.nodes.entries()) this.node(this.nodes[k], n);
    this.policies.setAttribute("aria-label", data.alts[0]);
    this.queues.setAttribute("aria-label", data.alts[1]);
    this.grid.setAttribute("aria-label", data.alts[2]);
    this.root.dataset.updates = ++this.updates;
  }

  build(data) {
    const root = this.root;
    root.textContent = "";
    this.now = [];
    const progress = html("div", "progress", root);
    this.track = html("div", "track", progress);
    this.track.setAttribute("role", "progressbar");
    this.track.setAttribute("aria-label", "Serverless run");
    this.fill = html("div", "fill", this.track);
    this.told = html("div", "told", progress);
    const halves = html("div", "halves", root);
    this.policies = this.panel(halves, "Policies so far ", false);
    html("small", "", this.policies.firstChild, "first run, warm-up included");
    const head = html("div", "policy head", this.policies);
    for (const text of ["", "over the run", "SLOs kept", "$ per 1,000 calls"])
      html("span", text && "number", head, text);
    head.children[1].style.textAlign = "left";
    this.rows = data.policies.map((p) => this.row(p));
    this.queues = this.panel(halves, "Jobs in the queues", true);
    const apps = html("div", "apps", this.queues);
    this.bars = data.queues.map((q) => this.application(apps, q));
    this.grid = this.panel(root, "Nodes", true);
    this.grid.classList.add("whole");
    const nodes = html("div", "nodes", this.grid);
    this.nodes = data.nodes.map((n, k) => this.card(nodes, n, k));
    this.key(data);
  }
  panel(parent, title, now) {
    const section = html("section", "", parent);
    section.setAttribute("role", "img");
    const h = html("h4", "", section, title + (now ? " " : ""));
    if (now) this.now.push(html("small", "", h));
    return section;
  }
  row(p) {
    const row = html("div", "policy", this.policies);
    row.style.setProperty("--c", p.colour);
    const b = html("b", "", row);
    html("i", "", b);
    html("span", "", b, p.name);
    const s = svg("svg", { viewBox: "0 0 100 26", preserveAspectRatio: "none" }, row);
    svg("line", { class: "full", x1: 0, x2: 100, y1: 1, y2: 1 }, s);
    svg("line", { class: "full", x1: 0, x2: 100, y1: 25, y2: 25 }, s);
    return {
      row,
      line: svg("polyline", { class: "line" }, s),
      hits: html("span", "number", row),
      cost: html("span", "number", row),
    };
  }
  application(parent, q) {
    const app = html("div", "app", parent);
    app.style.setProperty("--c", q.colour);
    html("div", "", app, q.application);
    return q.stages.map((name) => {
      const stage = html("div", "stage", app),
        label = html("span", "", stage, name);
      label.title = name;
      const bar = html("div", "bar", stage);
      return { fill: html("i", "", bar), number: html("em", "", stage) };
    });
  }
  card(parent, n, k) {
    const card = html("div", "node", parent),
      head = html("div", "", card);
    html("span", "", head, String(k));
    const text = html("span", "", head);
    const bar = html("div", "bar", card);
    bar.style.setProperty("--c", "var(--cpu)");
    const cells = html("div", "cells", card);
    cells.style.setProperty("--n", Math.min(n.vgpus, 14));
    const made = [];
    for (let i = 0; i < n.vgpus; i++) made.push(html("i", "", cells));
    return { card, text, fill: html("i", "", bar), cells: made };
  }
  key(data) {
    this.root.style.setProperty("--cpu", data.colours[0]);
    this.root.style.setProperty("--gpu", data.colours[1]);
    const key = html("div", "key", this.grid);
    const entry = (text) => {
      const s = html("span", "", key);
      return [s, () => html("span", "", s, text)];
    };
    const [a, ta] = entry("vCPUs held");
    const bar = html("div", "bar", a);
    bar.style.setProperty("--c", "var(--cpu)");
    html("i", "", bar);
    ta();
    for (const [text, kind] of [
      ["vGPU held", "held"],
      ["free", ""],
      ["stranded: free, but no batch could get it", "lost"],
    ]) {
      const [s, t] = entry(text);
      html("i", kind, html("div", "cells", s));
      t();
    }
    if (data.more) html("span", "", key, data.more);
  }

  policy(of, p) {
    of.row.classList.toggle("waiting", p.hits === null);
    of.hits.textContent = p.hits === null ? "–" : `${(100 * p.hits).toFixed(1)} %`;
    of.cost.textContent = p.cost === null ? "–" : String(+p.cost.toPrecision(3));
    of.line.setAttribute(
      "points",
      p.curve.map(([x, y]) => `${(100 * x).toFixed(2)},${(25 - 24 * y).toFixed(2)}`).join(" "),
    );
  }
  node(of, n) {
    of.fill.style.width = `${(100 * n.cpu_held) / n.vcpus}%`;
    of.text.textContent = `${n.cpu_held}/${n.vcpus} vCPUs`;
    of.cells.forEach((cell, i) => {
      cell.className = i < n.gpu_held ? "held" : i >= n.vgpus - n.stranded ? "lost" : "";
    });
    of.card.title = `${n.cpu_held} of ${n.vcpus} vCPUs and ${n.gpu_held} of ${n.vgpus} vGPUs held, ${n.stranded} stranded`;
  }
}
