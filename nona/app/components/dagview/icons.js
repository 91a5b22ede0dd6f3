// Small things that all parts of the view use: icons, buttons, paths.
const ICONS = {
  play: "M7 4v16l13-8z",
  pause: "M6 5h4v14H6zM14 5h4v14h-4z",
  back: "M6 5h2v14H6zM20 5v14L9 12z",
  next: "M16 5h2v14h-2zM4 5v14l11-7z",
  plus: "M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z",
  minus: "M5 11h14v2H5z",
  fit: "M4 9V4h5v2H6v3zm11-5h5v5h-2V6h-3zM4 15h2v3h3v2H4zm14 0h2v5h-5v-2h3z",
  save: "M11 4h2v8l3-3 1.4 1.4L12 16l-5.4-5.6L8 9l3 3zM5 18h14v2H5z",
  bytes: "M4 5h16v1H4zM4 9h16v2H4zM4 14h16v5H4z",
  help: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm-1 13h2v2h-2zm1-10a3.5 3.5 0 0 1 2 6.4c-.8.6-1 .9-1 1.6h-2c0-1.7.7-2.4 1.7-3.1A1.5 1.5 0 1 0 10.5 9.5h-2A3.5 3.5 0 0 1 12 6z",
  search: "M10 4a6 6 0 0 1 4.7 9.7l5.3 5.3-1.4 1.4-5.3-5.3A6 6 0 1 1 10 4zm0 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
};
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function iconOf(name, parent) {
  return svg(
    "path",
    { d: ICONS[name] },
    svg(
      "svg",
      { viewBox: "0 0 24 24", width: 16, height: 16, fill: "currentColor", "aria-hidden": "true" },
      parent,
    ),
  );
}
function iconButton(parent, icon, label, onclick) {
  const b = html("button", "", parent);
  b.type = "button";
  b.onclick = onclick;
  iconOf(icon, b);
  nameButton(b, icon, label);
  return b;
}
function nameButton(b, icon, label) {
  b.querySelector("path").setAttribute("d", ICONS[icon]);
  b.title = label;
  b.setAttribute("aria-label", label);
}
function textButton(parent, text, hint, onclick) {
  const b = html("button", "worded", parent, text);
  b.type = "button";
  b.title = hint;
  b.onclick = onclick;
  return b;
}
const press = (b, on) => b.setAttribute("aria-pressed", on ? "true" : "false");
const short = (text, most = 16) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const show = (e, on) => {
  e.style.display = on ? "" : "none";
};

// A path through points at right angles, with round corners.
function rounded(points) {
  let d = `M${points[0]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [p, c, n] = [points[i - 1], points[i], points[i + 1]],
      toward = (q) => {
        const length = Math.hypot(q[0] - c[0], q[1] - c[1]) || 1,
          r = Math.min(7, length / 2);
        return [c[0] + ((q[0] - c[0]) / length) * r, c[1] + ((q[1] - c[1]) / length) * r];
      };
    d += `L${toward(p)}Q${c} ${toward(n)}`;
  }
  return `${d}L${points[points.length - 1]}`;
}
