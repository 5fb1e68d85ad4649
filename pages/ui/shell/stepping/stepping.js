// The keys that lead from step to step, including those of a presenter's remote control; the panel sends the events.

const ARROWS = { ArrowRight: 1, ArrowLeft: -1 };
const REMOTE = { PageDown: 1, PageUp: -1 };
const TYPING = "input:not([type=range], [role=combobox]), textarea, [contenteditable=true], [role=dialog]";
const heard = new WeakMap();
const shown = new WeakMap();

export default function ({ data, parentElement }) {
  if (data.remote && shown.get(parentElement) !== data.drawn) {
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0); // a new screen starts at its top
    shown.set(parentElement, data.drawn);
  }
  document.removeEventListener("keydown", heard.get(parentElement));
  const keydown = (event) => {
    const by = ARROWS[event.key] ?? (data.remote && REMOTE[event.key]);
    const other = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;
    if (!by || other || event.target.closest?.(TYPING)) return;
    event.preventDefault();
    window.dispatchEvent(new CustomEvent("bertcalc-ask", { detail: { do: "go", by, held: event.repeat } }));
  };
  heard.set(parentElement, keydown);
  document.addEventListener("keydown", keydown);
  return () => document.removeEventListener("keydown", heard.get(parentElement));
}
