// The view: a toolbar above, the stage, what is sent to Python and what Python sends.
const views = new WeakMap();

class View {
  constructor(root) {
    this.root = root;
    this.chosen = null;
    this.later = {};
    root.textContent = "";
    this.top = html("div", "top", root);
    this.finder = new Finder(this, this.top);
    this.modes = html("div", "modes", this.top);
    this.modes.setAttribute("role", "group");
    this.modes.setAttribute("aria-label", "Colour by");
    this.legend = html("div", "legend", root);
    this.stage = html("div", "stage", root);
    this.canvas = svg("svg", { class: "canvas", tabindex: 0, role: "application" }, this.stage);
    this.scene = new Scene(this.canvas, root);
    this.camera = new Camera(this.stage, this.canvas, this.scene.world, () => this.scene.box);
    this.camera.clicked = (ev) => {
      const g = ev.target.closest("g[data-id]");
      this.choose(g ? this.scene.byId.get(g.dataset.id) : null);
    };
    this.minimap = new Minimap(this);
    this.help = new Help(this.stage);
    this.notice = html("div", "notice", this.stage);
    this.notice.setAttribute("role", "status");
    this.reader = html("div", "unseen", root);
    this.reader.setAttribute("aria-live", "polite");
    const why = html("div", "why", root);
    why.setAttribute("aria-live", "polite");
    this.bar = html("div", "bar", root);
    this.player = new Player(this, this.bar, why);
    this.buttons();
    this.canvas.addEventListener("keydown", (ev) => {
      if (pressed(this, ev)) {
        ev.preventDefault();
        ev.stopPropagation();
      }
    });
    this.canvas.addEventListener("dblclick", (ev) => {
      const g = ev.target.closest("g[data-id]");
      if (g) this.open(this.scene.byId.get(g.dataset.id));
    });
    this.camera.moved = () => this.looked();
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.stage);
    this.room = new Room(root);
  }
  buttons() {
    this.blocks = html("div", "blocks", this.bar);
    this.opener = textButton(
      this.blocks,
      "Expand",
      "Show what is inside the selected block (Enter, or a double click)",
      () => this.chosen && this.open(this.chosen.owner),
    );
    this.shutter = textButton(
      this.blocks,
      "Collapse",
      "Close the block around the selected operator (Backspace)",
      () => this.chosen && this.shut(this.chosen.owner),
    );
    this.opensAll = textButton(this.blocks, "Expand all", "Draw every operator by itself", () =>
      this.ask("all", ""),
    );
    this.shutsAll = textButton(this.blocks, "Collapse all", "Draw the largest modules as blocks", () =>
      this.ask("none", ""),
    );
    html("div", "space", this.bar);
    const tools = html("div", "tools", this.bar);
    this.bytes = iconButton(tools, "bytes", "Edge width by bytes", () => {
      this.scene.widen(!this.scene.byBytes);
      press(this.bytes, this.scene.byBytes);
    });
    press(this.bytes, false);
    iconButton(tools, "save", "Save the picture as SVG", () => savePicture(this));
    iconButton(tools, "minus", "Zoom out", () => this.camera.zoomMiddle(1 / 1.4));
    iconButton(tools, "plus", "Zoom in", () => this.camera.zoomMiddle(1.4));
    iconButton(tools, "fit", "Fit to view", () => this.camera.fit());
    iconButton(tools, "help", "Keys", () => this.help.toggle());
  }
  close() {
    this.player.close();
    Object.values(this.later).forEach(clearTimeout);
    this.keep();
    this.observer.disconnect();
    this.room.close();
  }

  show(data) {
    this.room.fill();
    this.root.classList.remove("busy");
    this.notice.textContent = data.notice || "";
    show(this.notice, !!data.notice);
    if (!this.data || this.data.sig !== data.sig) this.load(data);
    if (data.pick && String(data.pick) !== this.picked) {
      this.picked = String(data.pick);
      this.pick(data.pick[0]);
    }
  }
  load(data) {
    this.keep();
    const first = !this.data || this.data.name !== data.name,
      kept = this.chosen?.id,
      before = this.scene.byId;
    this.data = data;
    this.chosen = null;
    this.scene.load(data);
    this.player.load(data.steps);
    this.chosen = this.scene.byId.get(kept) || null;
    this.canvas.setAttribute(
      "aria-label",
      `Graph of ${data.nodes.length} ${data.what}. Arrow keys walk along it, the question mark lists the keys.`,
    );
    show(this.blocks, data.blocks);
    this.opensAll.disabled = !data.all;
    this.colours();
    this.camera.measure();
    this.arrange();
    this.finder.load(data.inside);
    // What was opened or shut just now is looked at and selected.
    const made = this.asked && !first ? this.scene.nodes.find((n) => !before.has(n.id)) : null;
    this.asked = false;
    if (made && !this.chosen) this.choose(made);
    if (first || !this.chosen) this.begin();
    else this.camera.centre(this.chosen.hx, this.chosen.hy);
    this.marked();
  }
  // The first look at a drawing: where one left it, else all of it.
  begin() {
    const look = lookAt(this.place);
    if (look) this.camera.look = look;
    else this.camera.begin(this.scene.nodes[0]);
  }
  // The name under which the look at this drawing is kept: a narrow panel draws it in other places.
  get place() {
    return `${this.data.sig}${this.narrow ? " narrow" : ""}`;
  }
  looked() {
    this.minimap.follow();
    clearTimeout(this.later.look);
    this.later.look = setTimeout(() => this.keep(), 300);
  }
  keep() {
    if (this.data && this.camera.w) keepLook(this.place, this.camera.touched ? this.camera.look : null);
  }
  arrange() {
    this.narrow = this.camera.narrow;
    this.scene.arrange(this.narrow ? this.data.narrow : this.data.wide);
    this.player.go(0, true);
    for (const n of this.scene.nodes) this.scene.put(n);
    this.minimap.draw();
  }
  // The view has another size: what was in its middle stays there.
  resized() {
    const { look, w: before } = this.camera;
    this.camera.measure();
    if (!this.data || !this.camera.w) return;
    if (this.narrow !== this.camera.narrow) {
      const at = this.player.step;
      this.keep();
      this.arrange();
      this.player.go(at, true);
      this.begin();
    } else if (!this.camera.touched) this.camera.begin(this.scene.nodes[0]);
    else if (before) this.camera.look = look;
  }
  colours() {
    const { scene } = this;
    this.modes.textContent = "";
    this.legend.textContent = "";
    show(this.modes, this.data.modes.length > 1);
    for (const m of this.data.modes) {
      const b = textButton(this.modes, m.name, `Colour by ${m.name.toLowerCase()}`, () => {
        scene.colour(m.name);
        this.colours();
      });
      press(b, m.name === scene.mode);
    }
    if (scene.scale) {
      html("span", "", this.legend, scene.scale[0]);
      html("b", "", this.legend).style.background =
        `linear-gradient(to right, ${scene.palette("sequential").join(",")})`;
      html("span", "", this.legend, scene.scale[1]);
    }
    for (const [text, c] of scene.legend) {
      const s = html("span", "", this.legend);
      html("i", "", s).style.setProperty("--c", scene.tone(c));
      s.append(text);
    }
  }
  choose(node, soon) {
    this.chosen = node;
    this.marked();
    this.say("selected", node ? node.id : null, soon ? 250 : 0);
  }
  pick(id) {
    const n = this.scene.byId.get(id);
    if (n) {
      this.chosen = n;
      this.marked();
      if (!this.camera.sees(n.hx, n.hy)) this.camera.centre(n.hx, n.hy);
    }
  }
  marked() {
    const c = this.chosen?.owner;
    this.scene.mark(this.chosen);
    this.opener.disabled = !c || c.count < 2;
    this.shutter.disabled = !c || !this.data.around[c.i];
    this.tellReader(c ? described(this.scene, c) : "Nothing is selected.");
  }
  tellReader(text) {
    if (text) this.reader.textContent = text;
  }
  open(node) {
    if (node.count > 1) this.ask("open", node.id);
  }
  shut(node) {
    if (this.data.around[node.i]) this.ask("shut", node.id);
  }
  ask(what, id) {
    this.asked = what === "open" || what === "shut";
    this.root.classList.add("busy");
    this.say("ask", [what, id, Date.now()]);
  }
  // Sent to Python at once, or when the keys have come to rest.
  say(what, value, wait = 0) {
    clearTimeout(this.later[what]);
    if (wait) this.later[what] = setTimeout(() => this.tell(what, value), wait);
    else this.tell(what, value);
  }
}

export default function (component) {
  const root = component.parentElement.querySelector(".dagview");
  let view = views.get(component.parentElement);
  if (!view) {
    view = new View(root);
    views.set(component.parentElement, view);
  }
  view.tell = component.setStateValue;
  view.show(component.data);
  return () => {
    view.close();
    views.delete(component.parentElement);
  };
}
