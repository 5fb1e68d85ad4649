// The keys that go from step to step, including the keys of a presenter's remote control. The panel sends the events.

const ARROWS = { ArrowRight: 1, ArrowLeft: -1 };
const REMOTE = { PageDown: 1, PageUp: -1 };
// A select box with a closed list keeps the focus after a choice and would react to the arrow keys. So this script
// handles the keys first.
const CLOSED = "[role=combobox][aria-expanded=false]";
const TYPING = "input:not([type=range]), textarea, [contenteditable=true], [role=dialog]";
const heard = new WeakMap();
const shown = new WeakMap();

export default function ({ data, parentElement }) {
  if (data.remote && shown.get(parentElement) !== data.drawn) {
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0); // show the top of a new screen
    shown.set(parentElement, data.drawn);
  }
  heard.get(parentElement)?.abort();
  const step = (event) => {
    const by = ARROWS[event.key] ?? (data.remote && REMOTE[event.key]);
    const other = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;
    if (!by || other) return;
    event.preventDefault();
    window.dispatchEvent(new CustomEvent("bertcalc-ask", { detail: { do: "go", by, held: event.repeat } }));
  };
  const stop = new AbortController();
  heard.set(parentElement, stop);
  const first = { signal: stop.signal, capture: true };
  document.addEventListener("keydown", (event) => event.target.matches?.(CLOSED) && step(event), first);
  document.addEventListener("keydown", (event) => event.target.closest?.(TYPING) || step(event), { signal: stop.signal });
  return () => heard.get(parentElement).abort();
}
