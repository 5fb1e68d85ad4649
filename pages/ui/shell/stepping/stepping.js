// The keys that lead from step to step, including those of a presenter's remote control; the panel sends the events.

const ARROWS = { ArrowRight: 1, ArrowLeft: -1 };
const REMOTE = { PageDown: 1, PageUp: -1 };
// A select box with a closed list keeps the focus after a choice, and would take the arrow keys: this script gets the
// keys first.
const CLOSED = "[role=combobox][aria-expanded=false]";
const TYPING = "input:not([type=range]), textarea, [contenteditable=true], [role=dialog]";
const heard = new WeakMap();
const shown = new WeakMap();

export default function ({ data, parentElement }) {
  if (data.remote && shown.get(parentElement) !== data.drawn) {
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0); // a new screen starts at its top
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
