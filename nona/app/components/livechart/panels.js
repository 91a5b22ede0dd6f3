// The four charts. Each draws on a frame {context, w, h, ink, faint, grid, font} and returns
// `points`, what can be pointed at, and `jct`, where the axis of response times is (`level`: from below upwards).
const PLACE = { left: 52, right: 12, top: 10, bottom: 36 };
const FAR = 20; // means this many times apart are drawn on a logarithmic axis

function axes(f, x, y, xTitle, yTitle) {
  const c = f.context,
    right = f.w - PLACE.right,
    bottom = f.h - PLACE.bottom;
  c.font = `11px ${f.font}`;
  c.lineWidth = 1;
  c.textBaseline = "middle";
  c.textAlign = "right";
  for (const t of y.ticks(5)) {
    const at = Math.round(y.at(t)) + 0.5;
    c.strokeStyle = f.grid;
    c.beginPath();
    c.moveTo(PLACE.left, at);
    c.lineTo(right, at);
    c.stroke();
    c.fillStyle = f.faint;
    c.fillText(digits(t), PLACE.left - 6, at);
  }
  c.textAlign = "center";
  c.textBaseline = "top";
  for (const t of x.ticks(Math.max(2, Math.floor((right - PLACE.left) / 60)))) {
    const at = Math.round(x.at(t)) + 0.5;
    c.strokeStyle = f.grid;
    c.beginPath();
    c.moveTo(at, PLACE.top);
    c.lineTo(at, bottom);
    c.stroke();
    c.fillStyle = f.faint;
    c.fillText(digits(t), at, bottom + 5);
  }
  c.fillStyle = f.faint;
  c.fillText(xTitle, (PLACE.left + right) / 2, f.h - 14);
  c.save();
  c.translate(9, (PLACE.top + bottom) / 2);
  c.rotate(-Math.PI / 2);
  c.textBaseline = "middle";
  c.fillText(yTitle, 0, 0);
  c.restore();
}

function waiting(f, words) {
  f.context.fillStyle = f.faint;
  f.context.font = `13px ${f.font}`;
  f.context.textAlign = "center";
  f.context.textBaseline = "middle";
  f.context.fillText(words, f.w / 2, f.h / 2);
  return { points: [] };
}

function overTime(f, shown) {
  const drawn = shown.filter((s) => s.t.length);
  if (!drawn.length) return waiting(f, "No job is complete yet.");
  const times = drawn.flatMap((s) => s.jct_s),
    far = drawn.map((s) => s.mean_s);
  const log = Math.max(...far) > FAR * Math.min(...far) && Math.min(...times) > 0;
  const most = Math.max(...times),
    unit = unitFor(log ? Math.sqrt(most * Math.min(...times)) : most);
  const end = Math.max(...drawn.map((s) => s.t[s.t.length - 1])),
    clock = unitFor(end);
  const x = scale(0, end / clock.size, PLACE.left, f.w - PLACE.right, false);
  const low = log ? Math.min(...times) / unit.size : 0;
  const y = scale(low, (most / unit.size) * 1.04, f.h - PLACE.bottom, PLACE.top, log);
  axes(
    f,
    x,
    y,
    `arrival, ${clock.name} after the first measured job`,
    `JCT, ${unit.name}${log ? ", log" : ""}`,
  );
  const points = [];
  for (const s of drawn) {
    const own = s.t.map((t, k) => [x.at(t / clock.size), y.at(s.jct_s[k] / unit.size)]);
    line(f.context, s.style, own);
    for (const [k, [px, py]] of own.entries())
      points.push([px, py, `${s.name}: ${digits(s.jct_s[k] / unit.size)} ${unit.name}`]);
  }
  return { points, jct: jctAxis(y, unit, true) };
}

function distribution(f, shown, data) {
  const drawn = shown.filter((s) => s.counts.length);
  if (!drawn.length) return waiting(f, "No job is complete yet.");
  const edge = (k) => data.low_s * 2 ** (k / data.per_octave);
  const limits = data.slo.map(([, s]) => s);
  const low = Math.min(...drawn.map((s) => edge(s.first)), ...limits) / 1.1;
  const high = Math.max(...drawn.map((s) => edge(s.first + s.counts.length)), ...limits) * 1.1;
  const unit = unitFor(Math.sqrt(low * high));
  const x = scale(low / unit.size, high / unit.size, PLACE.left, f.w - PLACE.right, true);
  const y = scale(0, 100, f.h - PLACE.bottom, PLACE.top, false);
  axes(f, x, y, `JCT, ${unit.name}, log`, "jobs that arrived, completed, %");
  sloLines(f, x, data.slo, unit);
  const points = [];
  for (const s of drawn) {
    let sum = 0;
    const share = () => (100 * sum) / (s.jobs + s.waiting);
    const own = [[x.at(edge(s.first) / unit.size), y.at(0)]];
    s.counts.forEach((n, k) => {
      sum += n;
      own.push([x.at(edge(s.first + k + 1) / unit.size), y.at(share())]);
      points.push([
        ...own[k + 1],
        `${s.name}: ${digits(share())} % within ${digits(edge(s.first + k + 1) / unit.size)} ${unit.name}`,
      ]);
    });
    line(f.context, s.style, own);
  }
  return { points, jct: jctAxis(x, unit, false) };
}

function jctAxis(axis, unit, level) {
  return { level, at: (s) => axis.at(s / unit.size), of: (pixel) => axis.of(pixel) * unit.size };
}

function sloLines(f, x, slo, unit) {
  const c = f.context,
    by = new Map();
  for (const [name, s] of slo) by.set(s, [...(by.get(s) || []), name]);
  let last = -99;
  for (const [s] of [...by].sort((a, b) => a[0] - b[0])) {
    const at = Math.round(x.at(s / unit.size)) + 0.5;
    c.strokeStyle = f.faint;
    c.lineWidth = 1.2;
    c.setLineDash([4, 3]);
    c.beginPath();
    c.moveTo(at, PLACE.top);
    c.lineTo(at, f.h - PLACE.bottom);
    c.stroke();
    c.setLineDash([]);
    last = Math.max(last, at);
  }
  if (!by.size) return;
  const left = last + 40 > f.w;
  c.font = `11px ${f.font}`;
  c.fillStyle = f.ink;
  c.textAlign = left ? "right" : "left";
  c.textBaseline = "bottom";
  c.fillText(by.size > 1 ? "SLOs" : "SLO", left ? last - 4 : last + 4, f.h - PLACE.bottom - 4);
}

// Horizontal bars, one row per scheduler; `parts` gives each row's bars as [share, opacity, word].
function bars(f, shown, parts, title) {
  const c = f.context,
    widest = Math.max(...shown.map((s) => c.measureText(s.name).width), 30);
  const left = Math.min(widest + 18, f.w * 0.36),
    right = f.w - 46,
    bottom = f.h - PLACE.bottom;
  const x = scale(0, 100, left, right, false),
    row = (bottom - PLACE.top) / Math.max(shown.length, 1);
  const points = [];
  c.font = `11px ${f.font}`;
  c.textAlign = "center";
  c.textBaseline = "top";
  for (const t of x.ticks(f.w < 320 ? 2 : 4)) {
    const at = Math.round(x.at(t)) + 0.5;
    c.strokeStyle = f.grid;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(at, PLACE.top);
    c.lineTo(at, bottom);
    c.stroke();
    c.fillStyle = f.faint;
    c.fillText(digits(t), at, bottom + 5);
  }
  c.fillStyle = f.faint;
  c.fillText(title, (left + right) / 2, f.h - 14);
  c.textBaseline = "middle";
  shown.forEach((s, k) => {
    const own = parts(s),
      middle = PLACE.top + (k + 0.5) * row,
      thick = Math.min(row * 0.72, 22) / Math.max(own.length, 1);
    c.fillStyle = f.ink;
    c.textAlign = "right";
    c.font = `${Math.min(11, Math.max(8, row))}px ${f.font}`;
    c.fillText(s.name.length > 16 ? `${s.name.slice(0, 15)}…` : s.name, left - 6, middle);
    own.forEach(([share, opacity, word], n) => {
      const top = middle + (n - own.length / 2) * thick,
        end = x.at(100 * share);
      c.globalAlpha = opacity;
      c.fillStyle = s.style.colour;
      c.fillRect(left, top, Math.max(end - left, 1), thick - 1);
      c.globalAlpha = 1;
      points.push([end, top + thick / 2, `${s.name}: ${word} ${digits(100 * share)} %`]);
    });
    if (own.length) {
      c.fillStyle = f.faint;
      c.textAlign = "left";
      c.fillText(
        own.map(([share]) => (100 * share).toFixed(own.length > 1 || share === 1 ? 0 : 1)).join(" · "),
        right + 5,
        middle,
      );
    }
  });
  return { points };
}

// Rounded down, as in the tables: never lifted up to a goal.
function kept(share) {
  return Math.floor(1000 * share + 1e-6) / 1000;
}

function hits(f, shown, data) {
  if (!data.slo.length) return waiting(f, "No query has an SLO.");
  return bars(
    f,
    shown,
    (s) => (s.hit_rate === null ? [] : [[kept(s.hit_rate), 1, "within the SLO"]]),
    `jobs within their SLO${data.running ? " so far" : ""}, %`,
  );
}

function loads(f, shown, data) {
  const parts = (s) =>
    s.busy
      ? [
          [s.busy[0], 1, "executors busy"],
          [s.busy[1], 0.5, "busiest link busy"],
        ]
      : [];
  return bars(f, shown, parts, `busy${data.running ? " since the start" : ""}, %: executors, link (paler)`);
}
