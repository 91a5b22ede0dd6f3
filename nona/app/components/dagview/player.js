// Playback of merges: forward, back, slider, play at a chosen speed. Who owns whom is found by union-find.
const SPEEDS = [1, 4, 0.5];

class Player {
  constructor(view, bar, why) {
    this.view = view;
    this.why = why;
    this.step = 0;
    this.steps = [];
    this.speed = 1;
    this.group = html("div", "player", bar);
    this.back = iconButton(this.group, "back", "Step back", () => this.move(-1));
    this.playing = iconButton(this.group, "play", "Play", () => this.toggle());
    this.next = iconButton(this.group, "next", "Step forward", () => this.move(1));
    this.pace = textButton(this.group, "1×", "Speed of play: 1×, 4× or 0.5×", () => this.faster());
    this.range = html("input", "", this.group);
    this.range.type = "range";
    this.range.min = 0;
    this.range.setAttribute("aria-label", "Contraction step");
    this.range.oninput = () => {
      this.pause(false);
      this.go(+this.range.value);
    };
    this.range.onchange = () => this.view.say("step", this.step);
    this.label = html("output", "", this.group);
    this.faster(0);
  }
  get played() {
    return this.steps.length > 0;
  }
  load(steps) {
    this.pause(false);
    this.steps = steps;
    this.range.max = steps.length;
    for (const e of [this.group, this.why]) show(e, this.played);
  }
  faster(by = 1) {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + by) % SPEEDS.length];
    this.pace.textContent = `${this.speed}×`;
    this.pace.setAttribute("aria-label", `Speed of play: ${this.speed}×`);
    if (this.timer) {
      this.pause(false);
      this.toggle();
    }
  }
  // After `step` merges every node is owned by the one that its task began with.
  own(step) {
    const nodes = this.view.scene.nodes,
      up = nodes.map((_, i) => i);
    const find = (i) => {
      while (up[i] !== i) {
        up[i] = up[up[i]];
        i = up[i];
      }
      return i;
    };
    for (let s = 0; s < step; s++) {
      const a = find(this.steps[s][0]),
        b = find(this.steps[s][1]);
      if (a !== b) up[b] = a;
    }
    for (const n of nodes) n.size = 0;
    nodes.forEach((n, i) => {
      n.owner = nodes[find(i)];
      n.owner.size++;
    });
  }
  go(step, instant) {
    const { scene } = this.view;
    this.step = Math.max(0, Math.min(this.steps.length, step));
    this.own(this.step);
    const last = this.step ? scene.nodes[this.steps[this.step - 1][0]].owner : null;
    for (const n of scene.nodes) {
      scene.relabel(n);
      n.g.classList.toggle("fresh", n === last);
      n.from = [n.x, n.y];
      n.to = [n.owner.hx, n.owner.hy];
    }
    this.range.value = this.step;
    this.label.textContent = `step ${this.step} / ${this.steps.length}`;
    this.range.setAttribute("aria-valuetext", this.label.textContent);
    this.why.textContent = this.step
      ? this.steps[this.step - 1][2]
      : "Every operator by itself. Press play, or step forward.";
    this.back.disabled = this.step === 0;
    this.next.disabled = this.step === this.steps.length;
    scene.mark(this.view.chosen);
    this.animate(instant || still() ? 0 : 320 / this.speed);
  }
  animate(duration) {
    const { scene } = this.view;
    cancelAnimationFrame(this.frame);
    scene.canvas.classList.toggle("moving", duration > 0);
    const moving = scene.nodes.filter((n) => n.from[0] !== n.to[0] || n.from[1] !== n.to[1]);
    const begin = performance.now(),
      tick = (now) => {
        const u = duration ? Math.min(1, Math.max(0, (now - begin) / duration)) : 1,
          e = u * u * (3 - 2 * u);
        for (const n of moving) {
          n.x = n.from[0] + (n.to[0] - n.from[0]) * e;
          n.y = n.from[1] + (n.to[1] - n.from[1]) * e;
          scene.put(n);
        }
        scene.route();
        if (u < 1) this.frame = requestAnimationFrame(tick);
      };
    if (duration) this.frame = requestAnimationFrame(tick);
    else tick(begin);
  }
  move(by) {
    this.jump(this.step + by);
  }
  jump(step) {
    this.pause(false);
    this.go(step);
    this.view.say("step", this.step);
  }
  toggle() {
    if (this.timer) {
      this.pause(true);
      return;
    }
    if (this.step === this.steps.length) this.go(0);
    nameButton(this.playing, "pause", "Pause");
    const beat = Math.max(60, Math.min(650, 12000 / this.steps.length)) / this.speed;
    this.timer = setInterval(() => {
      this.go(this.step + 1, beat < 200);
      if (this.step === this.steps.length) this.pause(true);
    }, beat);
  }
  pause(tell) {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
    nameButton(this.playing, "play", "Play");
    if (tell) this.view.say("step", this.step);
  }
  close() {
    this.pause(false);
    cancelAnimationFrame(this.frame);
  }
}
