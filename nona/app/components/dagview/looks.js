// Where one looked at each graph, kept for as long as the tab of the browser is open.
const LOOKS = "nona-graph-looks";
const MOST_LOOKS = 60;

function allLooks() {
  try {
    const held = JSON.parse(sessionStorage.getItem(LOOKS));
    return Array.isArray(held) ? held : [];
  } catch {
    return []; // the browser keeps nothing, or something else
  }
}
// The look at the drawing `sig`, or null.
function lookAt(sig) {
  const found = allLooks().find((entry) => entry[0] === sig);
  return found && found.length === 4 && found.slice(1).every(Number.isFinite) ? found.slice(1) : null;
}
// Keep a look; null forgets it.
function keepLook(sig, look) {
  const others = allLooks().filter((entry) => entry[0] !== sig);
  const kept = look ? [...others, [sig, ...look]] : others;
  try {
    sessionStorage.setItem(LOOKS, JSON.stringify(kept.slice(-MOST_LOOKS)));
  } catch {
    // without storage every graph opens as it did at first
  }
}
