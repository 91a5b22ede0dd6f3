// Every visible text with its colour and what lies under it, composited; also in shadow roots and drawings.
() => {
  const parse = (text) => {
    let m = /^rgba?\(([^)]+)\)/.exec(text);
    if (m) { const v = m[1].split(/[ ,\/]+/).map(Number); return [v[0], v[1], v[2], v[3] ?? 1]; }
    m = /^color\(srgb ([^)]+)\)/.exec(text);
    if (m) { const v = m[1].split(/[ \/]+/).map(Number); return [v[0]*255, v[1]*255, v[2]*255, v[3] ?? 1]; }
    return null;
  };
  const over = (top, under) => {
    const a = top[3] + under[3] * (1 - top[3]);
    if (a === 0) return [0, 0, 0, 0];
    return [0, 1, 2].map((i) => (top[i]*top[3] + under[i]*under[3]*(1 - top[3])) / a).concat(a);
  };
  const up = (e) => e.parentElement ?? (e.getRootNode().host ?? null);
  const luminance = (c) => {
    const f = c.slice(0, 3).map((v) => { v /= 255; return v <= .04045 ? v/12.92 : ((v + .055)/1.055) ** 2.4; });
    return .2126*f[0] + .7152*f[1] + .0722*f[2];
  };
  const painted = (e) => {
    const s = getComputedStyle(e);
    if (e instanceof SVGElement && e.tagName !== 'svg') {
      const fill = ['text', 'tspan', 'g', 'line', 'path'].includes(e.tagName) ? null : parse(s.fill);
      if (fill) fill[3] *= Number(s.fillOpacity) * Number(s.opacity);
      return fill;
    }
    return parse(s.backgroundColor);
  };
  const ground = (e, x, y) => {
    let found = [0, 0, 0, 0];
    const layers = [];
    if (e instanceof SVGElement) {
      const under = e.getRootNode().elementsFromPoint(x, y);
      for (const u of under) if (u !== e && u instanceof SVGElement) layers.push(u);
    }
    for (let u = e; u; u = up(u)) {
      const b = u.getBoundingClientRect();  // a label beside its holder does not lie on it
      const beside = x < b.left || x > b.right || y < b.top || y > b.bottom;
      if (!(u instanceof SVGElement) && !beside) layers.push(u);
    }
    for (const u of layers) {
      const c = painted(u);
      if (c) found = over(found, c);
      if (found[3] > .99) return found;
    }
    return over(found, parse(getComputedStyle(document.body).backgroundColor));
  };
  const opacity = (e) => { let o = 1; for (let u = e; u; u = up(u)) o *= Number(getComputedStyle(u).opacity); return o; };
  const out = [];
  const look = (root) => {
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let n = walk.nextNode(); n; n = walk.nextNode()) {
      if (n.nodeType === 1) { if (n.shadowRoot) look(n.shadowRoot); continue; }
      const text = n.textContent.trim(), e = n.parentElement;
      if (!text || !e || ['STYLE', 'SCRIPT', 'NOSCRIPT', 'TITLE', 'DESC', 'OPTION', 'title', 'desc'].includes(e.tagName)) continue;
      if (e.closest('[disabled], [aria-disabled=true], [data-stale=true], [aria-hidden=true]')) continue;
      const range = document.createRange(); range.selectNodeContents(n);
      const box = range.getBoundingClientRect();
      const style = getComputedStyle(e);
      if (box.width < 2 || box.height < 2 || style.visibility !== 'visible' || !e.checkVisibility({opacityProperty: true})) continue;
      const colour = parse(e instanceof SVGElement ? style.fill : style.color);
      if (!colour) continue;
      const back = ground(e, box.x + box.width/2, box.y + box.height/2);
      colour[3] *= opacity(e) * (e instanceof SVGElement ? Number(style.fillOpacity) : 1);
      const front = over(colour, back);
      const [a, b] = [luminance(front), luminance(back)].sort((p, q) => q - p);
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const holder = e.closest('[data-testid]') ?? e.getRootNode().host?.closest('[data-testid]');
      out.push({ text: text.slice(0, 60), ratio: (a + .05)/(b + .05), large, where: holder?.dataset.testid ?? e.tagName,
        kind: [e.tagName, e.getAttribute('class') ?? ''].join('.').slice(0, 60),
        colours: [front, back].map((c) => c.slice(0, 3).map(Math.round).join(',')).join(' on ') });
    }
  };
  look(document.body);
  return out;
}
