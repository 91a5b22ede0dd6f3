// All of the graph in a corner, with a frame around what is in view; it is there where not all of it is.
const MAP_W = 150;
const MAP_H = 96;

class Minimap {
  constructor(view) {
    this.view = view;
    this.root = svg(
      "svg",
      { class: "minimap", width: MAP_W, height: MAP_H, "aria-hidden": "true" },
      view.stage,
    );
    this.dots = svg("path", { class: "dots" }, this.root);
    this.frame = svg("rect", { class: "frame", rx: 2 }, this.root);
    const look = (ev) => {
      if (ev.type === "pointermove" && !ev.buttons) return;
      const r = this.root.getBoundingClientRect();
      const { camera } = view;
      const [x, y] = [(ev.clientX - r.left) / this.k + this.x0, (ev.clientY - r.top) / this.k + this.y0];
      camera.look = [camera.k, x, y];
      ev.stopPropagation();
    };
    for (const name of ["pointerdown", "pointermove"]) this.root.addEventListener(name, look);
  }
  draw() {
    const [x0, y0, x1, y1] = this.view.scene.box;
    this.k = Math.min(MAP_W / (x1 - x0 + 120), MAP_H / (y1 - y0 + 60));
    this.x0 = (x0 + x1 - MAP_W / this.k) / 2;
    this.y0 = (y0 + y1 - MAP_H / this.k) / 2;
    const at = (n) =>
      `M${((n.hx - this.x0) * this.k).toFixed(1)},${((n.hy - this.y0) * this.k).toFixed(1)}h.01`;
    this.dots.setAttribute("d", this.view.scene.nodes.map(at).join(""));
    this.follow();
  }
  follow() {
    const { x, y, k, w, h } = this.view.camera;
    const [x0, y0, x1, y1] = this.view.scene.box ?? [0, 0, 0, 0];
    const all = x0 * k + x >= 0 && y0 * k + y >= 0 && x1 * k + x <= w && y1 * k + y <= h;
    show(this.root, !all && w > 2 * MAP_W);
    const frame = { x: (-x / k - this.x0) * this.k, y: (-y / k - this.y0) * this.k };
    Object.assign(frame, { width: (w / k) * this.k, height: (h / k) * this.k });
    for (const [name, value] of Object.entries(frame)) this.frame.setAttribute(name, value.toFixed(1));
  }
}
