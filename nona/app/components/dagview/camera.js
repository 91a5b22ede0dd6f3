// Where one looks: pan, zoom, fit, centre; mouse, touch and pen.
const READABLE = 0.68; // the least zoom of the first look on a narrow panel
const NARROW = 480; // pixels
const LARGEST = 2.2; // the most by which a small graph is enlarged to fill the view

class Camera {
  constructor(stage, canvas, world, box) {
    Object.assign(this, {
      stage,
      canvas,
      world,
      box,
      k: 1,
      x: 0,
      y: 0,
      w: 0,
      h: 0,
      touched: false,
      pointers: new Map(),
    });
    this.clicked = () => {};
    this.moved = () => {};
    this.listen();
  }
  measure() {
    const r = this.stage.getBoundingClientRect();
    this.w = r.width;
    this.h = r.height;
  }
  get narrow() {
    return this.w < NARROW;
  }
  at(ev) {
    const r = this.canvas.getBoundingClientRect();
    return [ev.clientX - r.left, ev.clientY - r.top];
  }
  listen() {
    const c = this.canvas,
      up = (ev) => this.pointers.delete(ev.pointerId);
    c.addEventListener(
      "wheel",
      (ev) => {
        ev.preventDefault();
        this.zoom(...this.at(ev), Math.exp(-ev.deltaY * 0.0015));
      },
      { passive: false },
    );
    c.addEventListener("pointerdown", (ev) => {
      this.pointers.set(ev.pointerId, this.at(ev));
      this.dragged = 0;
    });
    c.addEventListener("pointermove", (ev) => this.drag(ev));
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("click", (ev) => {
      if (!(this.dragged >= 4)) this.clicked(ev);
    });
  }
  drag(ev) {
    const old = this.pointers.get(ev.pointerId);
    if (!old) return;
    const now = this.at(ev),
      others = [...this.pointers].filter(([id]) => id !== ev.pointerId);
    this.dragged += Math.hypot(now[0] - old[0], now[1] - old[1]);
    if (this.dragged < 4) return;
    if (!this.canvas.hasPointerCapture(ev.pointerId)) this.canvas.setPointerCapture(ev.pointerId);
    if (others.length) {
      const o = others[0][1],
        f = Math.hypot(now[0] - o[0], now[1] - o[1]) / Math.max(1, Math.hypot(old[0] - o[0], old[1] - o[1]));
      this.zoom(o[0], o[1], f);
    } else this.pan(now[0] - old[0], now[1] - old[1]);
    this.pointers.set(ev.pointerId, now);
  }
  place() {
    this.world.setAttribute("transform", `translate(${this.x},${this.y}) scale(${this.k})`);
    this.canvas.classList.toggle("far", this.k < 0.3);
    this.moved();
  }
  pan(dx, dy) {
    this.touched = true;
    this.x += dx;
    this.y += dy;
    this.place();
  }
  zoom(px, py, f) {
    const k = Math.max(0.02, Math.min(4, this.k * f));
    this.touched = true;
    this.x = px - ((px - this.x) * k) / this.k;
    this.y = py - ((py - this.y) * k) / this.k;
    this.k = k;
    this.place();
  }
  zoomMiddle(f) {
    this.zoom(this.w / 2, this.h / 2, f);
  }
  fitting() {
    const [x0, y0, x1, y1] = this.box();
    return Math.min(this.w / (x1 - x0 + 90), this.h / (y1 - y0 + 70), LARGEST);
  }
  fit() {
    const [x0, y0, x1, y1] = this.box();
    this.touched = false;
    this.k = this.fitting();
    this.x = (this.w - (x0 + x1) * this.k) / 2;
    this.y = (this.h - (y0 + y1) * this.k) / 2;
    this.place();
  }
  // The first look: all of it; on a narrow panel its beginning, where all of it could not be read.
  begin(first) {
    if (!this.narrow || this.fitting() >= READABLE) {
      this.fit();
      return;
    }
    const [x0, y0, x1] = this.box();
    this.touched = false;
    this.k = Math.max(READABLE, Math.min(1, this.w / (x1 - x0 + 60)));
    this.x = first ? this.w / 2 - first.hx * this.k : 24 - x0 * this.k;
    this.y = 24 - y0 * this.k;
    this.place();
  }
  // The look as numbers that hold at any size of the panel: zoom, and the place in its middle.
  get look() {
    return [this.k, (this.w / 2 - this.x) / this.k, (this.h / 2 - this.y) / this.k];
  }
  set look([k, x, y]) {
    this.touched = true;
    this.k = k;
    this.x = this.w / 2 - x * k;
    this.y = this.h / 2 - y * k;
    this.place();
  }
  // Bring a place into the middle, and close enough to read it.
  centre(x, y) {
    this.touched = true;
    this.k = Math.max(this.k, 0.7);
    this.x = this.w / 2 - x * this.k;
    this.y = this.h / 2 - y * this.k;
    this.place();
  }
  sees(x, y) {
    const px = this.x + x * this.k,
      py = this.y + y * this.k;
    return px > 50 && py > 24 && px < this.w - 50 && py < this.h - 24 && this.k >= 0.3;
  }
}
