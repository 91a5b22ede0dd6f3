// One MIG board: memory slices as a row of buttons, what may start at the chosen one below. Text is textContent.
const views = new WeakMap();

export default function (component) {
  const root = component.parentElement.querySelector(".migview");
  let view = views.get(root);
  if (!view) {
    view = new View(root);
    views.set(root, view);
  }
  view.tell = (wish) => component.setTriggerValue("edit", wish);
  view.show(component.data);
}

class View {
  constructor(root) {
    root.textContent = "";
    this.root = root;
    this.chosen = null;
    this.axis = html("div", "axis", root);
    this.axis.setAttribute("aria-hidden", "true");
    this.board = html("div", "board", root);
    this.board.setAttribute("role", "toolbar");
    this.compute = html("div", "compute", root);
    this.panel = html("div", "panel", root);
    this.said = html("div", "said", root);
    this.said.setAttribute("aria-live", "polite");
    this.board.addEventListener("keydown", (ev) => {
      if (this.key(ev.key)) {
        ev.preventDefault();
        ev.stopPropagation();
      }
    });
    this.panel.addEventListener("keydown", (ev) => {
      if (this.optionKey(ev)) {
        ev.preventDefault();
        ev.stopPropagation();
      }
    });
  }
  colour(i) {
    const raw = getComputedStyle(this.root).getPropertyValue("--st-chart-categorical-colors");
    return (raw.split(/,(?![^(]*\))/)[i % 10] || "gray").trim();
  }

  show(data) {
    const same = this.data && this.data.sig === data.sig,
      old = this.data;
    const inside = this.root.getRootNode().activeElement,
      had = inside && this.root.contains(inside);
    this.data = data;
    if (same && this.painted === this.colour(0)) return;
    this.painted = this.colour(0);
    const columns = `repeat(${data.memory}, minmax(0, 1fr))`;
    this.axis.style.gridTemplateColumns = columns;
    this.board.style.gridTemplateColumns = columns;
    this.axis.textContent = "";
    for (let i = 0; i < data.memory; i++) html("span", "", this.axis, String(i));
    this.board.setAttribute(
      "aria-label",
      `${data.name}: memory slices 0 to ${data.memory - 1}. Arrow keys move, Enter chooses, Delete removes.`,
    );
    this.items = [
      ...data.instances.map(([start, size, compute, profile, c, memory]) => ({
        start,
        size,
        compute,
        profile,
        c,
        memory,
        kind: "placed",
      })),
      ...data.empty.map(([start, lost, options]) => ({
        start,
        size: 1,
        options,
        kind: lost ? "lost" : "empty",
      })),
    ].sort((a, b) => a.start - b.start);
    this.board.textContent = "";
    for (const item of this.items) this.button(item);
    this.pips();
    if (!same && old && old.sig !== data.sig)
      this.said.textContent = `${data.instances.length} instances: ${data.instances.map((x) => x[3]).join(", ") || "none"}`;
    const at =
      this.chosen === null
        ? null
        : this.items.find((x) => x.start <= this.chosen && this.chosen < x.start + x.size);
    this.choose(same ? at : at && at.kind === "empty" && !had ? at : null, true);
    const focus = at || this.items[0];
    for (const x of this.items) x.b.tabIndex = x === focus ? 0 : -1;
    if (had) focus.b.focus();
  }
  button(item) {
    const b = html("button", item.kind, this.board),
      end = item.start + item.size - 1,
      of = this.data.compute;
    const where = item.size > 1 ? `memory slices ${item.start} to ${end}` : `memory slice ${item.start}`;
    b.type = "button";
    item.b = b;
    b.style.gridColumn = `${item.start + 1} / span ${item.size}`;
    b.dataset.start = item.start;
    if (item.kind === "placed") {
      b.style.setProperty("--c", this.colour(item.c));
      if (item.size === 1) b.classList.add("narrow");
      html("b", "", b, item.size === 1 ? item.profile.replace(".", ".\u200b") : item.profile);
      html(
        "span",
        "",
        b,
        item.size > 1 ? `${item.compute}/${of} compute · ${item.memory}` : `${item.compute}/${of}`,
      );
      b.setAttribute(
        "aria-label",
        `${item.profile} on ${where}, ${item.compute} of ${of} compute slices, ${item.memory}. Press to remove.`,
      );
      b.title = `${item.profile}: ${item.compute} of ${of} compute slices, ${item.memory}. Click to remove.`;
      b.onclick = () => this.remove(item);
    } else if (item.kind === "empty") {
      html("b", "", b, "+");
      b.setAttribute("aria-label", `${where}, empty. Press to see what can start here.`);
      b.title = "Empty: click to see what can start here";
      b.onclick = () => this.choose(item);
    } else {
      b.setAttribute("aria-label", `${where}, stranded: nothing can use it in this layout.`);
      b.title = "Stranded: no slice can use it in this layout";
      b.onclick = () => this.choose(item);
    }
    b.onfocus = () => {
      for (const x of this.items) x.b.tabIndex = x === item ? 0 : -1;
    };
  }
  pips() {
    const d = this.data;
    this.compute.textContent = "";
    html("span", "", this.compute, "Compute slices");
    const row = html("span", "pips", this.compute);
    row.setAttribute("aria-hidden", "true");
    for (const [, , compute, , c] of d.instances)
      for (let i = 0; i < compute; i++) html("i", "", row).style.setProperty("--c", this.colour(c));
    for (let i = 0; i < d.free; i++) html("i", "free", row);
    for (let i = 0; i < d.lost; i++) html("i", "lost", row);
    const used = d.compute - d.free - d.lost,
      lost = d.lost ? `, ${d.lost} stranded` : "";
    html("span", "", this.compute, `${used} of ${d.compute} in use, ${d.free} free${lost}`);
  }

  choose(item, quiet) {
    this.chosen = item ? item.start : null;
    for (const x of this.items) x.b.classList.toggle("chosen", x === item && x.kind !== "placed");
    this.panel.textContent = "";
    if (!item || item.kind === "placed") {
      const nothing = !this.data.instances.length;
      html(
        "p",
        "alone",
        this.panel,
        nothing
          ? "No slice yet: choose a memory slice with + to place one."
          : "Choose a memory slice with + to place a slice; choose a slice to remove it.",
      );
      return;
    }
    const legal = (item.options || []).filter((o) => !o[2]),
      other = (item.options || []).filter((o) => o[2]);
    html(
      "p",
      legal.length ? "" : "alone",
      this.panel,
      legal.length
        ? `Start at memory slice ${item.start}:`
        : `Nothing can start at memory slice ${item.start}.`,
    );
    const list = html("div", "options", this.panel);
    list.setAttribute("role", "group");
    list.setAttribute("aria-label", `What can start at memory slice ${item.start}`);
    for (const [profile, about, , c] of legal) {
      const b = html("button", "", list);
      b.type = "button";
      b.dataset.profile = profile;
      b.style.setProperty("--c", this.colour(c));
      html("b", "", b, profile);
      html("span", "", b, about);
      b.onclick = () => {
        this.focusBoard(item);
        this.tell({ act: "add", start: item.start, profile });
      };
    }
    if (other.length) {
      const d = html("details", "", this.panel);
      html("summary", "", d, `Why not ${other.length === 1 ? "the other one" : `the other ${other.length}`}`);
      const ul = html("ul", "", d);
      for (const [profile, , why] of other) html("li", "", ul, `${profile}: ${why}`);
    }
    if (!quiet && legal.length) list.firstChild.focus();
  }
  focusBoard(item) {
    item.b.focus();
  }
  remove(item) {
    this.chosen = item.start;
    item.b.focus();
    this.tell({ act: "remove", start: item.start });
  }

  key(k) {
    const at = this.items.findIndex((x) => x.b.tabIndex === 0),
      item = this.items[at];
    const to = {
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      Home: 0,
      End: this.items.length - 1,
    }[k];
    if (to !== undefined) {
      const next = this.items[Math.max(0, Math.min(this.items.length - 1, to))];
      next.b.focus();
      return true;
    }
    if ((k === "Delete" || k === "Backspace") && item && item.kind === "placed") {
      this.remove(item);
      return true;
    }
    if (k === "Escape") {
      this.choose(null);
      return true;
    }
    return false;
  }
  optionKey(ev) {
    const all = [...this.panel.querySelectorAll(".options button")],
      at = all.indexOf(this.root.getRootNode().activeElement);
    if (ev.key === "Escape") {
      const item = this.items.find((x) => x.start === this.chosen);
      this.choose(null);
      if (item) item.b.focus();
      return true;
    }
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[ev.key];
    if (by === undefined || at < 0) return false;
    all[(at + by + all.length) % all.length].focus();
    return true;
  }
}
