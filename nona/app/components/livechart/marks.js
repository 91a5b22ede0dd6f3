// Dashes and markers by the names that the finished charts use, so that a scheduler looks the same there.
const DASHES = {
  solid: [],
  dot: [2, 3],
  dash: [7, 4],
  longdash: [12, 4],
  dashdot: [7, 3, 2, 3],
  longdashdot: [12, 3, 2, 3],
};
const CORNERS = {
  square: [4, 45],
  diamond: [4, 0],
  pentagon: [5, -90],
  hexagon: [6, 0],
  "triangle-up": [3, -90],
  "triangle-down": [3, 90],
  "triangle-left": [3, 180],
  "triangle-right": [3, 0],
};

function outline(context, symbol, x, y, r) {
  context.beginPath();
  const corners = CORNERS[symbol];
  if (symbol === "cross" || symbol === "x") {
    const [a, b] = symbol === "cross" ? [r, 0] : [r * 0.75, r * 0.75];
    context.moveTo(x - a, y - b);
    context.lineTo(x + a, y + b);
    context.moveTo(x + b, y - a);
    context.lineTo(x - b, y + a);
  } else if (symbol.startsWith("star") || symbol === "hexagram") {
    for (let k = 0; k < 10; k++) {
      const angle = ((-90 + 36 * k) * Math.PI) / 180,
        reach = k % 2 ? r * 0.45 : r * 1.2;
      context.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
    }
    context.closePath();
  } else if (corners) {
    for (let k = 0; k < corners[0]; k++) {
      const angle = ((corners[1] + (360 / corners[0]) * k) * Math.PI) / 180;
      context.lineTo(x + 1.15 * r * Math.cos(angle), y + 1.15 * r * Math.sin(angle));
    }
    context.closePath();
  } else {
    context.arc(x, y, r, 0, 7);
  }
}

function marker(context, style, x, y, r) {
  const open = style.symbol.endsWith("-open"),
    symbol = style.symbol.replace("-open", "");
  outline(context, symbol, x, y, r);
  context.setLineDash([]);
  context.lineWidth = 1.8;
  context.strokeStyle = context.fillStyle = style.colour;
  if (open || symbol === "cross" || symbol === "x") context.stroke();
  else context.fill();
}

function line(context, style, points) {
  if (!points.length) return;
  context.beginPath();
  for (const [k, [x, y]] of points.entries()) {
    if (k) context.lineTo(x, y);
    else context.moveTo(x, y);
  }
  context.strokeStyle = style.colour;
  context.lineWidth = 1.8;
  context.lineJoin = "round";
  context.setLineDash(DASHES[style.dash] || []);
  context.stroke();
  context.setLineDash([]);
  const [x, y] = points[points.length - 1];
  marker(context, style, x, y, 3.4);
}
