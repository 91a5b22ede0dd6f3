// Around every page: links that stay in the session, the demo's keys, the focus, the open tab in view,
// and the side bar that closes on a narrow window. It reads the page and presses what is there; it adds nothing.
const NARROW = 768; // pixels: below, the side bar lies over the page
const OWN_KEYS =
  "input, textarea, select, [contenteditable=true], [role=tab], [role=radio], [role=slider], [role=listbox], [role=option], [role=combobox], [role=menu], [role=dialog], [role=application], [role=grid], svg[tabindex], canvas[tabindex]";
const WRITTEN = ":is([data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]) :is(p, li)"; // not page links
const BEGIN_MS = 300; // a key that was told has made the script run by then
const REST_MS = 150; // how long the script rests when it is done: on the way to another page it rests shortly
const TERMS_MS = 250;
const PATIENCE_MS = 5000; // for the end of a run, before a key cuts it off
let pressed = null; // the demo's key that waits for the script: its step, the place it was pressed at, until when
let told = { at: Number.NEGATIVE_INFINITY }; // the last one that was told: its step, its place, when
let marked = null; // the view whose step the page is marked with: the one before it may close after it opened
let held = null; // what had the focus last, as a description: its element may have been replaced

const views = new WeakMap(); // Streamlit calls this again whenever the data is other

export default function (component) {
  const parent = component.parentElement;
  const view = views.get(parent) ?? new Surround();
  views.set(parent, view);
  view.show(component);
  return () => {
    view.close();
    views.delete(parent);
  };
}

class Surround {
  constructor() {
    this.tabs = new WeakMap();
    this.ends = new AbortController();
    const on = (name, act) =>
      document.addEventListener(name, act, { capture: true, signal: this.ends.signal });
    on("click", (e) => this.click(e));
    on("keydown", (e) => this.key(e));
    on("focusin", (e) => {
      held = description(e.target);
      if (e.target.closest(POPOVER)) held.opener = openerKey() ?? held.opener;
    });
    on("pointerdown", (e) => {
      if (!e.target.closest?.(FOCUSABLE)) held = null;
    });
    on("input", (e) => {
      if (e.target.matches?.(FIELD)) noteTyped({ ...description(e.target), value: e.target.value });
    });
    on("focusout", () => noteTyped(null)); // the field has handed it on
    on("keydown", (e) => e.key === "Enter" && noteTyped(null));
    // The field over the whole window is there while files are dragged over it.
    const over = (files) => document.body.classList.toggle("files-over", files);
    on("dragenter", (e) => over([...(e.dataTransfer?.types ?? [])].includes("Files")));
    on("dragleave", (e) => e.relatedTarget === null && over(false));
    on("drop", () => setTimeout(() => over(false), 300));
    this.observer = new MutationObserver(() => this.soon());
    this.observer.observe(document.body, {
      childList: true,
      subtree: true,
      attributes: true,
      attributeFilter: ["disabled", "aria-selected"],
    });
    this.soon();
  }
  show(component) {
    this.data = component.data;
    this.tell = component.setTriggerValue;
    marked = this;
    document.body.dataset.demoKeys = this.data.demo; // the step whose keys are heard from now on
    if (this.data.demo !== told.place) told = { at: told.at }; // that step was taken
    this.tellKey();
  }
  close() {
    if (marked === this) delete document.body.dataset.demoKeys;
    this.ends.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.later);
    clearTimeout(this.terms);
  }
  soon() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      keepFocus();
      putBackTyped();
      focusPalette();
      this.showOpenTabs();
      takeScheme();
      clearTimeout(this.terms);
      this.terms = setTimeout(showTerms, TERMS_MS); // once, after all that changes at a time
      for (const wait of [0, 100, 300]) setTimeout(makeRoom, wait); // it is moved a few times as it opens
    });
  }

  click(event) {
    const link = event.target.closest?.("a[href]");
    if (!link) return;
    if (link.closest("[data-testid=stSidebarNav]")) closeSideBar();
    const address = new URL(link.href, location.href);
    const page = address.pathname.split("/").pop();
    const inside = address.origin === location.origin && this.data.pages.includes(page);
    const other = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
    if (!inside || other || !link.closest(WRITTEN)) return;
    event.preventDefault();
    event.stopPropagation();
    this.tell("open", page + address.search);
  }

  key(event) {
    if (!this.data.demo || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const step = { ArrowRight: "next", ArrowLeft: "back", Escape: "leave" }[event.key];
    const open = document.querySelector(`${POPOVER}, [role=dialog]`); // has Escape to itself
    if (!step || open || event.composedPath()[0].closest?.(OWN_KEYS)) return;
    event.preventDefault();
    const [now, place] = [performance.now(), this.data.demo];
    if (told.step === step && told.place === place && now < told.at + PATIENCE_MS) return; // it is on its way
    pressed = { step, place, until: now + PATIENCE_MS };
    this.tellKey();
  }
  // One key at a time, when the script rests: Streamlit loses track of the page when each cuts off the run before.
  tellKey() {
    clearTimeout(this.later);
    const now = performance.now();
    if (!pressed) return;
    const leave = pressed.step === "leave";
    if (!this.data.demo || (!leave && pressed.place !== this.data.demo))
      pressed = null; // that step was taken
    else if (now < pressed.until && !this.rests(now)) this.later = setTimeout(() => this.tellKey(), 30);
    else {
      this.tell("key", `${pressed.step} ${this.data.demo}`);
      told = { step: pressed.step, place: this.data.demo, at: now };
      pressed = null;
    }
  }
  rests(now) {
    this.restsFrom = scriptRuns() ? undefined : (this.restsFrom ?? now);
    if (this.restsFrom === undefined || now < told.at + BEGIN_MS) return false;
    return now > told.at + PATIENCE_MS || now >= Math.max(this.restsFrom, told.at + BEGIN_MS) + REST_MS;
  }

  // The open tab of each row of tabs, once whenever another is opened: a row may be scrolled by hand.
  showOpenTabs() {
    for (const list of document.querySelectorAll("[role=tablist]")) {
      const tab = list.querySelector("[role=tab][aria-selected=true]");
      if (!tab || this.tabs.get(list) === tab) continue;
      this.tabs.set(list, tab);
      const box = scrollBox(list);
      const [outer, inner] = [box.getBoundingClientRect(), tab.getBoundingClientRect()];
      if (inner.left < outer.left) box.scrollLeft -= outer.left - inner.left + 24;
      if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right + 24;
    }
  }
}

const POPOVER = "[data-testid=stPopoverBody]";
const OPENED = "[data-testid=stPopoverButton][aria-expanded=true]";
const FOCUSABLE = "button, a[href], input, textarea, select, [tabindex]";

function scrollBox(list) {
  for (let e = list; e && e !== document.body; e = e.parentElement)
    if (e.scrollWidth > e.clientWidth + 1 && /auto|scroll|hidden/.test(getComputedStyle(e).overflowX))
      return e;
  return list;
}

// Popovers, toasts and hints lie beside the app, where its scheme does not reach.
function takeScheme() {
  const app = document.querySelector(".stApp");
  const scheme = app && getComputedStyle(app).colorScheme;
  if (scheme && document.documentElement.style.colorScheme !== scheme)
    document.documentElement.style.colorScheme = scheme;
}

// A popover always opens below its button, also where only a sliver of it would be seen: then it opens above.
function makeRoom() {
  const body = document.querySelector(POPOVER);
  const button = document.querySelector(OPENED)?.getBoundingClientRect();
  if (!body || !button) return;
  const wanted = Math.min(body.scrollHeight + 2, 0.7 * innerHeight);
  const below = innerHeight - button.bottom - 12;
  const above = button.top - 12;
  if (below >= wanted || above <= below) return;
  const height = Math.min(wanted, above);
  body.style.setProperty("max-height", `${height}px`, "important");
  const top = body.getBoundingClientRect().top - Number.parseFloat(body.style.getPropertyValue("--up") || 0);
  const up = button.top - 4 - Math.min(height, body.scrollHeight + 2) - top;
  body.style.setProperty("--up", `${up}`);
  body.style.translate = `0 ${up}px`;
}

function textsOf(root, but) {
  const found = [];
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    if (but.contains(node)) continue;
    if (node.nodeType === Node.TEXT_NODE) found.push(node.data);
    else if (node.shadowRoot) found.push(...textsOf(node.shadowRoot, but));
  }
  return found;
}

// Of the terms below a page those whose word is on it.
function showTerms() {
  const line = document.querySelector(".st-key-page-terms");
  const page = line && document.querySelector("[data-testid=stMain]");
  if (!page) return;
  const said = textsOf(page, line).join("\n"); // what stands beside each other does not make one word
  const links = [...line.querySelectorAll("a")];
  for (const link of links) {
    const word = link.textContent;
    const exact = word === word.toUpperCase() || /[A-Z]{2}/.test(word); // MIG is not in migrate
    const there = new RegExp(`(?<![\\p{L}])${word}`, exact ? "u" : "iu").test(said);
    if (link.hidden === there) link.hidden = !there;
  }
  const none = links.every((link) => link.hidden);
  if (line.hidden !== none) line.hidden = none;
}

function scriptRuns() {
  return document.querySelector(".stApp")?.dataset.testScriptState !== "notRunning";
}

function closeSideBar() {
  if (innerWidth >= NARROW) return;
  document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
}

// A run of the script may replace the element that was pressed, or switch it off while it works; or shut the
// popover it was in: then its button has the focus, whose label may name what was picked.
function keepFocus() {
  if (!held || document.activeElement !== document.body || !document.hasFocus()) return;
  const same = candidates(held).filter((e) => !e.disabled && e.getClientRects().length > 0);
  if (same.length === 1) same[0].focus({ preventScroll: true });
  else if (!same.length && held.opener && held.page === location.pathname && !document.querySelector(POPOVER))
    document.querySelector(`.${CSS.escape(held.opener)} button`)?.focus({ preventScroll: true });
}

// What was typed and not handed on when the page was loaded again: put into its field, which hands it on.
const TYPED = "nona-typed";
const FIELD = ":is(input[type=number], input[type=text], textarea):not([role=combobox])";
const WAIT_MS = 20000; // for its field
let typed = JSON.parse(sessionStorage.getItem(TYPED) ?? "null");
function noteTyped(what) {
  if (what) sessionStorage.setItem(TYPED, JSON.stringify(what));
  else if (!typed) sessionStorage.removeItem(TYPED);
}

function putBackTyped() {
  if (!typed || scriptRuns()) return;
  const uncounted = (key) => key?.replace(/-\d+-/, "-"); // a reload may count keys on
  const [field, ...more] = candidates({ ...typed, key: undefined }).filter(
    (e) => e.matches(FIELD) && !e.disabled && uncounted(keyOf(e)) === uncounted(typed.key),
  );
  if (!field && performance.now() < WAIT_MS) return;
  const { value } = typed;
  typed = null;
  noteTyped(null);
  if (!field || more.length || field.value === value) return;
  const kind = field instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
  field.focus({ preventScroll: true });
  Object.getOwnPropertyDescriptor(kind.prototype, "value").set.call(field, value); // React's own is passed by
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.blur();
}

// The palette's field has the focus once, when it opens.
const focused = new WeakSet();
function focusPalette() {
  const field = document.querySelector(".st-key-palette-box input");
  if (!field || focused.has(field)) return;
  focused.add(field);
  field.focus();
}

function openerKey() {
  const button = document.querySelector(OPENED);
  return button ? keyOf(button) : undefined;
}

function description(element) {
  const key = keyOf(element);
  return { key, tag: element.tagName, label: labelOf(element), page: location.pathname };
}

function candidates({ key, tag, label, page }) {
  if (page !== location.pathname) return [];
  const root = key ? document.querySelector(`.${CSS.escape(key)}`) : document;
  return [...(root?.querySelectorAll(tag) ?? [])].filter((e) => labelOf(e) === label);
}

function keyOf(element) {
  const holder = element.closest?.("[class*='st-key-']");
  return [...(holder?.classList ?? [])].find((c) => c.startsWith("st-key-"));
}

function labelOf(element) {
  return element.getAttribute("aria-label") || element.textContent.trim().slice(0, 80);
}
