// After Back or Forward, an earlier run that has not finished could overwrite the URL to which Back led. So URLs are
// dropped until the run that Back caused begins. This run first writes the URL with & at its end. It never begins if
// the reader immediately does something else, or if the connection is lost.
const LONGEST_WAIT = 5000; // ms
let awaited = null; // the query of the URL whose run has not begun yet
let patience = 0; // the timer that ends the wait

function endWait() {
  awaited = null;
  clearTimeout(patience);
}

for (const name of ["pushState", "replaceState"]) {
  const write = history[name].bind(history);
  history[name] = (state, title, url) => {
    const there = new URL(url ?? "", location.href);
    const begins = there.search.endsWith("&"); // a signal that the run begins, which is not written as a URL
    if (!begins && (awaited === null || there.pathname !== location.pathname)) return write(state, title, url);
    if (there.search.slice(1) === `${awaited}&`) endWait();
  };
}
addEventListener("popstate", () => {
  endWait();
  if (location.hash) return; // do not wait: Streamlit may not request a run for it
  awaited = location.search.slice(1);
  patience = setTimeout(endWait, LONGEST_WAIT);
});
for (const name of ["pointerdown", "keydown"]) addEventListener(name, endWait, { capture: true });
