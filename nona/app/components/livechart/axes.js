// Scales, ticks and numbers for people.
const UNITS = [
  [1e-6, "µs"],
  [1e-3, "ms"],
  [1, "s"],
  [60, "min"],
  [3600, "h"],
];

// The unit in which a time of `most` seconds reads best.
function unitFor(most) {
  let found = UNITS[0];
  for (const unit of UNITS) if (most >= unit[0] && (unit[0] < 60 || most >= 3 * unit[0])) found = unit;
  return { size: found[0], name: found[1] };
}

function digits(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(+value.toPrecision(size >= 100 ? 4 : 3));
}

function linearTicks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) || 10 * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++) ticks.push(k * step);
  return ticks;
}

function logTicks(low, high, wanted) {
  if (high < 8 * low) return linearTicks(low, high, wanted);
  for (const heads of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) {
      for (const head of heads) {
        const value = head * 10 ** p;
        if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
      }
    }
    if (ticks.length <= wanted + 1 || heads.length === 1) return ticks;
  }
  return [];
}

// A scale from [low, high] to pixels [from, to] and back; `log` where the values lie far apart.
function scale(low, high, from, to, log) {
  const f = log ? Math.log : (v) => v,
    inverse = log ? Math.exp : (v) => v;
  const a = f(low),
    b = f(high) > f(low) ? f(high) : f(low) + 1;
  const at = (v) => from + ((f(v) - a) / (b - a)) * (to - from);
  const of = (pixel) => inverse(a + ((pixel - from) / (to - from)) * (b - a));
  return { at, of, low, high, log, ticks: (n) => (log ? logTicks(low, high, n) : linearTicks(low, high, n)) };
}
