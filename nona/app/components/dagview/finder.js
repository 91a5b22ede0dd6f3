// Search among ids, labels and kinds, and among the operators inside shut modules.
class Finder {
  constructor(view, parent) {
    this.view = view;
    this.found = [];
    this.at = -1;
    const box = html("label", "finder", parent);
    iconOf("search", box);
    this.input = html("input", "", box);
    this.input.type = "search";
    this.input.placeholder = "Find an operator";
    this.input.setAttribute("aria-label", "Find an operator by name or kind");
    this.count = html("span", "matches", box);
    this.count.setAttribute("aria-live", "polite");
    this.input.oninput = () => this.search();
    this.input.onkeydown = (ev) => {
      if (ev.key === "Enter") this.walk(ev.shiftKey ? -1 : 1, true);
      else if (ev.key === "Escape") {
        this.clear();
        view.scene.canvas.focus();
      } else {
        ev.stopPropagation();
        return;
      }
      ev.preventDefault();
      ev.stopPropagation();
    };
  }
  focus() {
    this.input.focus();
    this.input.select();
  }
  clear() {
    this.input.value = "";
    this.search();
  }
  // A new graph: search again, look nowhere else.
  load(inside) {
    this.inside = inside;
    this.search(false);
  }
  search(look = true) {
    const words = this.input.value.trim().toLowerCase().split(/\s+/).filter(Boolean),
      { scene } = this.view;
    const holds = (text) => words.every((w) => text.includes(w));
    this.found = [];
    this.at = -1;
    for (const n of scene.nodes) {
      const inner = words.length ? this.within(n).filter((name) => holds(name.toLowerCase())) : [];
      const hit =
        words.length > 0 && (inner.length > 0 || holds(`${n.id} ${n.label} ${n.tip}`.toLowerCase()));
      n.g.classList.toggle("found", hit);
      n.g.classList.remove("current");
      if (hit) this.found.push([n, inner]);
    }
    scene.canvas.classList.toggle("searching", this.found.length > 0);
    this.count.textContent = words.length ? "none" : "";
    this.count.classList.toggle("none", words.length > 0 && !this.found.length);
    if (this.found.length) {
      if (look) this.walk(1, false);
      else this.number();
    }
  }
  // "name kind" of the operators inside a block; what all names begin with is sent once.
  within(n) {
    const [begin, ...rest] = this.inside[n.i] || [""];
    return rest.map((name) => begin + name);
  }
  number() {
    this.count.textContent =
      this.at < 0 ? `${this.found.length} found` : `${this.at + 1} of ${this.found.length}`;
  }
  walk(by, choose) {
    if (!this.found.length) return;
    if (this.at >= 0) this.found[this.at][0].g.classList.remove("current");
    // The first Enter takes the match that typing went to already.
    if (!(choose && by > 0 && this.fresh)) this.at = (this.at + by + this.found.length) % this.found.length;
    this.fresh = !choose;
    const [n, inner] = this.found[this.at],
      seen = n.owner;
    n.g.classList.add("current");
    this.number();
    this.view.camera.centre(seen.hx, seen.hy);
    if (choose) this.view.choose(seen, true);
    this.view.tellReader(
      inner.length
        ? `${inner.length} inside ${n.label}: ${inner.slice(0, 3).join(", ")}. Press Enter on the block to open it.`
        : "",
    );
  }
}
