// What the keys do while the graph has the focus, and the list that says so.
const KEYS = [
  ["↑ ↓", "along the edges"],
  ["← →", "among neighbours of a rank (in playback: a step)"],
  ["Enter", "open the selected block"],
  ["Backspace", "close the block around the selection"],
  ["/ or Ctrl+F", "find; Enter and Shift+Enter walk the matches"],
  ["Escape", "clear the search, then the selection"],
  ["+ − 0", "zoom in, out, fit all"],
  ["Shift+arrows", "move the picture"],
  ["Space, Home, End", "play, first step, last step"],
  ["?", "this list"],
];
const PAN = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };

// Returns whether the key meant something here.
function pressed(view, ev) {
  const k = ev.key,
    { camera, player, finder, help } = view,
    chosen = view.chosen?.owner;
  if (k === "/" || (k.toLowerCase() === "f" && (ev.ctrlKey || ev.metaKey))) finder.focus();
  else if (ev.ctrlKey || ev.metaKey || ev.altKey) return false;
  else if (k === "?") help.toggle();
  else if (k === "+" || k === "=") camera.zoomMiddle(1.4);
  else if (k === "-") camera.zoomMiddle(1 / 1.4);
  else if (k === "0") camera.fit();
  else if (k === "Escape") {
    if (help.open) help.toggle();
    else if (finder.input.value) finder.clear();
    else view.choose(null);
  } else if (k === "Enter" && chosen) view.open(chosen);
  else if (k === "Backspace" && chosen) view.shut(chosen);
  else if (PAN[k] && ev.shiftKey) camera.pan(...PAN[k]);
  else if (player.played && k === " ") player.toggle();
  else if (player.played && k === "Home") player.jump(0);
  else if (player.played && k === "End") player.jump(player.steps.length);
  else if (player.played && (k === "ArrowLeft" || k === "ArrowRight"))
    player.move(k === "ArrowLeft" ? -1 : 1);
  else if (PAN[k]) walk(view, k, chosen);
  else return false;
  return true;
}
function walk(view, k, chosen) {
  const { scene } = view,
    way = k === "ArrowDown" || k === "ArrowRight" ? 1 : -1;
  const begin = () =>
    scene.nodes.find((n) => n.owner === n && !scene.beside(n, -1).length) || scene.nodes[0].owner;
  const next = !chosen
    ? begin()
    : k === "ArrowUp" || k === "ArrowDown"
      ? scene.beside(chosen, way)[0]
      : scene.sibling(chosen, way);
  if (!next) return;
  view.choose(next, true);
  if (!view.camera.sees(next.hx, next.hy)) view.camera.centre(next.hx, next.hy);
}
// What a screen reader says of a node.
function described(scene, node) {
  const into = scene.beside(node, -1).map((n) => n.label),
    out = scene.beside(node, 1).map((n) => n.label);
  const list = (names) => (names.length ? `${names.length}: ${names.slice(0, 4).join(", ")}` : "none");
  return `${node.count > 1 ? "Block " : ""}${node.tip || node.label}. Inputs ${list(into)}. Outputs ${list(out)}.`;
}

class Help {
  constructor(stage) {
    this.box = html("div", "help", stage);
    this.box.setAttribute("role", "note");
    this.box.setAttribute("aria-label", "Keys");
    const list = html("dl", "", this.box);
    for (const [key, what] of KEYS) {
      html("dt", "", list, key);
      html("dd", "", list, what);
    }
    this.open = true;
    this.toggle();
  }
  toggle() {
    this.open = !this.open;
    show(this.box, this.open);
  }
}
