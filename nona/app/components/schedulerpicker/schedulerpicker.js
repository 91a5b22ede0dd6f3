// The choice of schedulers: chips of those chosen; behind a button check boxes by family, with a search.
// Those for research are folded away; a search unfolds them.
const views = new WeakMap();
const PATIENCE_MS = 4000; // an answer that is longer under way is not waited for

export default function (component) {
  const root = component.parentElement.querySelector(".schedulerpicker");
  let view = views.get(root);
  if (!view) {
    view = new SchedulerPicker(root);
    views.set(root, view);
  }
  view.send = (names, number) => component.setStateValue("chosen", [names, number]);
  view.show(component.data);
}

class SchedulerPicker {
  constructor(root) {
    this.root = root;
    this.chosen = [];
    this.sent = 0;
    root.textContent = "";
    root.setAttribute("role", "group");
    this.label = html("div", "label", root);
    this.chips = html("div", "chips", root);
    this.opener = html("button", "opener");
    this.opener.type = "button";
    this.opener.setAttribute("aria-controls", "all");
    this.opener.onclick = () => this.open(this.panel.hidden);
    this.panel = html("div", "panel", root);
    this.panel.id = "all";
    this.panel.hidden = true;
    this.search = html("input", "search", this.panel);
    this.search.type = "search";
    this.search.autocomplete = "off";
    this.search.spellcheck = false;
    this.search.placeholder = "Find by name, summary or source";
    this.search.setAttribute("aria-label", this.search.placeholder);
    this.search.oninput = () => this.narrow();
    this.hint = html("p", "hint", this.panel);
    this.none = html("p", "none", this.panel);
    this.none.setAttribute("role", "status");
    this.views = html("details", "views", this.panel);
    this.list = html("div", "list", this.panel);
    this.usual = html("div", "", this.list);
    this.research = html("details", "research", this.list);
    this.panel.onkeydown = (event) => {
      if (this.key(event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    };
  }

  show(data) {
    this.root.setAttribute("aria-label", data.label);
    this.label.textContent = data.label;
    this.opener.title = data.hint;
    this.hint.textContent = data.hint;
    const drawn = JSON.stringify(data.entries);
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.draw(data.entries);
    }
    // Until the last choice has been taken in, an answer to an earlier one must not undo it.
    if (data.heard >= this.sent || Date.now() - this.sent > PATIENCE_MS) this.chosen = [...data.chosen];
    this.mark();
  }

  draw(entries) {
    const folded = entries.filter((e) => e.research).length;
    this.usual.textContent = this.research.textContent = "";
    html("summary", "", this.research, `Research: ${folded} more`);
    this.rows = [];
    let family = null;
    for (const entry of entries) {
      if (family === null || family.title !== entry.family) {
        const set = html("fieldset", "", entry.research ? this.research : this.usual);
        family = { title: entry.family, set };
        html("legend", "", set, entry.family);
      }
      this.rows.push(this.row(entry, family.set));
    }
    this.explain(entries);
    this.narrow();
  }

  // What the badges stand for.
  explain(entries) {
    const meanings = new Map(entries.filter((e) => e.view).map((e) => [e.view, e.meaning]));
    this.views.textContent = "";
    this.views.hidden = !meanings.size;
    const names = [...meanings.keys()].sort();
    html("summary", "", this.views, `What each sees of the network: ${names.join(", ")}`);
    for (const name of names) html("p", "", this.views, `${name} ${meanings.get(name)}`);
  }

  row(entry, set) {
    const row = html("div", "row", set);
    const label = html("label", "", row);
    const box = html("input", "", label);
    box.type = "checkbox";
    box.setAttribute("aria-label", entry.name);
    box.setAttribute("aria-description", [entry.meaning, entry.summary].filter(Boolean).join(". "));
    box.onchange = () => this.toggle(entry.name, box.checked);
    const text = html("span", "text", label);
    html("b", "", text, entry.name);
    if (entry.view) {
      const badge = html("span", "badge", text, entry.view);
      badge.title = `${entry.view}: ${entry.meaning}`;
    }
    html("span", "summary", text, entry.summary);
    if (entry.source) {
      const more = html("details", "", row);
      const head = html("summary", "", more, "Source and adaptation");
      head.setAttribute("aria-label", `Source and adaptation of ${entry.name}`);
      if (entry.view) html("p", "", more, `Network view ${entry.view}: ${entry.meaning}.`);
      html("p", "", more, `Source: ${entry.source}`);
      html("p", "", more, entry.adaptation);
    }
    const found = [entry.name, entry.summary, entry.source, entry.view].join(" ").toLowerCase();
    return { entry, row, box, set, found };
  }

  // Show the rows that hold every word, and the families that have such rows.
  narrow() {
    const words = this.search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    for (const r of this.rows) r.row.hidden = !words.every((w) => r.found.includes(w));
    const found = (set) => this.rows.some((r) => r.set === set && !r.row.hidden);
    for (const set of this.list.querySelectorAll("fieldset")) set.hidden = !found(set);
    const research = this.rows.filter((r) => r.entry.research);
    this.research.open = words.length > 0 && research.some((r) => !r.row.hidden);
    this.research.hidden = research.every((r) => r.row.hidden);
    const shown = this.rows.filter((r) => !r.row.hidden).length;
    this.none.textContent = shown ? "" : "No scheduler has all these words.";
  }

  isSeen(r) {
    return !r.row.hidden && (this.research.open || !r.entry.research);
  }

  toggle(name, on) {
    const others = this.chosen.filter((n) => n !== name);
    this.chosen = on ? [...others, name] : others;
    this.mark();
    this.sent = Date.now();
    this.send(this.chosen, this.sent);
  }

  mark() {
    const at = this.chips.contains(this.root.getRootNode().activeElement);
    const signature = JSON.stringify(this.chosen);
    if (signature !== this.marked) {
      this.marked = signature;
      this.chips.textContent = "";
      for (const name of this.chosen) this.chip(name);
      this.chips.appendChild(this.opener);
      if (at) this.opener.focus({ preventScroll: true });
    }
    for (const r of this.rows) r.box.checked = this.chosen.includes(r.entry.name);
    this.opener.textContent = `Choose: ${this.chosen.length} of ${this.rows.length}`;
    this.opener.setAttribute("aria-expanded", String(!this.panel.hidden));
  }

  chip(name) {
    const chip = html("button", "chip", this.chips, name);
    chip.type = "button";
    chip.title = `Remove ${name}`;
    chip.setAttribute("aria-label", `Remove ${name}`);
    html("span", "cross", chip, "×").setAttribute("aria-hidden", "true");
    chip.onclick = () => this.toggle(name, false);
  }

  open(wanted) {
    this.panel.hidden = !wanted;
    this.search.value = "";
    this.narrow();
    this.opener.setAttribute("aria-expanded", String(wanted));
    (wanted ? this.search : this.opener).focus({ preventScroll: true });
  }

  // Arrows walk from the search through the boxes shown, Enter chooses the first; Escape shuts the list.
  key(event) {
    if (event.key === "Enter" && event.target === this.search) {
      const first = this.search.value.trim() && this.rows.find((r) => !r.row.hidden);
      if (first && !first.box.checked) this.toggle(first.entry.name, true);
      return true;
    }
    if (event.key === "Escape") {
      this.open(false);
      return true;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return false;
    const stops = [this.search, ...this.rows.filter((r) => this.isSeen(r)).map((r) => r.box)];
    const from = stops.indexOf(event.target);
    if (from < 0) return false;
    const to = stops[Math.max(0, Math.min(stops.length - 1, from + step))];
    to.focus();
    return true;
  }
}
