// After Back or Forward, an earlier run that is still going could write its address over the one that Back led to. So
// addresses are dropped until the run that Back caused begins: it first writes the address with & at its end. That run
// never begins if the reader does something else at once, or if the connection is lost.
const LONGEST_WAIT = 5000; // ms
let awaited = null; // the address whose run has not begun
let patience = 0; // the timer

function endWait() {
  awaited = null;
  clearTimeout(patience);
}

for (const name of ["pushState", "replaceState"]) {
  const write = history[name].bind(history);
  history[name] = (state, title, url) => {
    const there = new URL(url ?? "", location.href);
    const begins = there.search.endsWith("&"); // not written: this is a signal, not an address
    if (!begins && (awaited === null || there.pathname !== location.pathname)) return write(state, title, url);
    if (there.search.slice(1) === `${awaited}&`) endWait();
  };
}
addEventListener("popstate", () => {
  endWait();
  if (location.hash) return; // Streamlit may request no run
  awaited = location.search.slice(1);
  patience = setTimeout(endWait, LONGEST_WAIT);
});
for (const name of ["pointerdown", "keydown"]) addEventListener(name, endWait, { capture: true });
