// The height of the view: what is left of the window below it, so that the page need not be scrolled.
const LEAST = 420; // pixels
const BELOW = 14;
const PHONE = 768; // below this width of the window the details stand under the graph
const SHARE = 0.62; // of the window's height, there

class Room {
  constructor(root) {
    this.root = root;
    this.page = scrolling(root);
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.fill()));
    this.observer.observe(this.page);
    if (this.page.firstElementChild) this.observer.observe(this.page.firstElementChild);
  }
  fill() {
    const above =
      this.root.getBoundingClientRect().top - this.page.getBoundingClientRect().top + this.page.scrollTop;
    const left = innerWidth < PHONE ? SHARE * this.page.clientHeight : this.page.clientHeight - above - BELOW;
    const height = `${Math.round(Math.max(LEAST, left))}px`;
    if (this.root.style.height !== height) this.root.style.height = height;
  }
  close() {
    this.observer.disconnect();
  }
}
// The element around `e` that scrolls, also across a shadow tree's border.
function scrolling(e) {
  const up = (x) => x.parentElement || x.getRootNode().host;
  for (let p = up(e); p; p = up(p)) if (/auto|scroll/.test(getComputedStyle(p).overflowY)) return p;
  return document.documentElement;
}
