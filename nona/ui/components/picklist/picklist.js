// A list with a search field: what is typed narrows it, arrows walk it, Enter or a click picks.
const views = new WeakMap();

export default function (component) {
  const root = component.parentElement.querySelector(".picklist");
  let view = views.get(root);
  if (!view) {
    view = new PickList(root);
    views.set(root, view);
  }
  view.tell = (name) => component.setStateValue("picked", [name, Date.now()]);
  view.show(component.data);
}

class PickList {
  constructor(root) {
    this.root = root;
    this.at = 0;
    root.textContent = "";
    this.input = html("input", "", root);
    this.input.type = "search";
    this.input.autocomplete = "off";
    this.input.spellcheck = false;
    for (const [name, value] of [
      ["role", "combobox"],
      ["aria-expanded", "true"],
      ["aria-controls", "entries"],
      ["aria-autocomplete", "list"],
    ])
      this.input.setAttribute(name, value);
    this.list = html("ul", "", root);
    this.list.id = "entries";
    this.list.setAttribute("role", "listbox");
    this.none = html("p", "", root);
    this.none.setAttribute("role", "status");
    this.input.oninput = () => this.narrow();
    this.input.onkeydown = (ev) => {
      if (this.key(ev.key)) {
        ev.preventDefault();
        ev.stopPropagation();
      }
    };
    // Once it stands it can take the focus: whoever opens the list wants to search it.
    requestAnimationFrame(() => this.input.focus({ preventScroll: true }));
  }
  show(data) {
    const sig = JSON.stringify(data);
    if (sig === this.sig) return;
    this.sig = sig;
    this.input.placeholder = data.label;
    this.input.setAttribute("aria-label", data.label);
    this.list.setAttribute("aria-label", data.label);
    this.list.textContent = "";
    this.items = data.entries.map((entry, k) => this.item(entry, k, entry.name === data.chosen));
    this.narrow(
      Math.max(
        0,
        data.entries.findIndex((e) => e.name === data.chosen),
      ),
    );
  }
  item(entry, k, chosen) {
    const li = html("li", "", this.list);
    li.id = `entry-${k}`;
    li.setAttribute("role", "option");
    li.setAttribute("aria-selected", chosen ? "true" : "false");
    li.setAttribute("aria-label", entry.name);
    li.setAttribute(
      "aria-description",
      [entry.family, entry.figures, entry.about].filter(Boolean).join(". "),
    );
    const head = html("div", "head", li);
    html("b", "", head, entry.name);
    html("span", "family", head, entry.family);
    if (entry.figures) html("div", "figures", li, entry.figures);
    if (entry.about) html("div", "about", li, entry.about);
    li.onclick = () => this.tell(entry.name);
    const text = Object.values(entry).join(" ").toLowerCase();
    return { li, entry, text };
  }
  // Show what holds every word; the first of them is marked, or the one at `k`.
  narrow(k) {
    const words = this.input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of this.items) item.li.hidden = !words.every((w) => item.text.includes(w));
    this.shown = this.items.filter((item) => !item.li.hidden);
    this.none.textContent = this.shown.length ? "" : "No entry has all these words.";
    this.mark(Math.max(0, k === undefined ? 0 : this.shown.indexOf(this.items[k])));
  }
  mark(at) {
    this.at = at;
    for (const item of this.items) item.li.classList.remove("marked");
    const item = this.shown[at];
    if (item) {
      item.li.classList.add("marked");
      const low = item.li.offsetTop;
      const high = low + item.li.offsetHeight;
      if (low < this.list.scrollTop) this.list.scrollTop = low;
      else if (high > this.list.scrollTop + this.list.clientHeight)
        this.list.scrollTop = high - this.list.clientHeight;
      this.input.setAttribute("aria-activedescendant", item.li.id);
    } else this.input.removeAttribute("aria-activedescendant");
  }
  key(k) {
    const last = this.shown.length - 1;
    const to = {
      ArrowDown: Math.min(last, this.at + 1),
      ArrowUp: Math.max(0, this.at - 1),
      PageDown: Math.min(last, this.at + 5),
      PageUp: Math.max(0, this.at - 5),
    }[k];
    if (to !== undefined && last >= 0) {
      this.mark(to);
      return true;
    }
    if (k === "Enter" && this.shown[this.at]) {
      this.tell(this.shown[this.at].entry.name);
      return true;
    }
    return false;
  }
}
