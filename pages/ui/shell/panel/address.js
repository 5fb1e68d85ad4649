// After Back or Forward, what a run that began before writes into the address would replace the one that Back led to:
// it is dropped until the run of Back begins, which first writes the address with & at its end. That run does not come
// where something else is done at once, or where the connection is lost.
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
    const begins = there.search.endsWith("&"); // never written: it is no address
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
