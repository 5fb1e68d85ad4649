// The panel of the model's sliders (field.js): it sends events to the server, has the buttons undo, redo and reset, and
// writes the link. A drag sends one event, at its end, and so does a held key. If an event is still unanswered, new
// events wait until the page is drawn.

const PATIENCE = 2000; // ms after which unanswered events are sent again, if no run is in progress
const TRIES = 5; // how often events are sent again; Streamlit drops messages while it is disconnected
const SENDING = 100; // ms within which Streamlit sends a typed value after its field loses the focus
const PACE = 500; // ms between two events of a held key
const PRESS = 500; // ms within which a run begins after the press of a button
const STATE = "data-test-script-state";
const LEFT = "[data-testid=stMain] :is(input[type=text], input[type=number], textarea):not([role], [role=dialog] *)";
const FIELD = "input[type=text], input[type=number], textarea";
const PAGE_LINK = ["stTopNavLink", "stTopNavDropdownLink", "stSidebarNavLink", "stPageLink-NavLink"]
  .map((id) => `[data-testid=${id}]`)
  .join();
const NO_KEYS = matchMedia("(hover: none)"); // a touch screen
const panels = new WeakMap();
let sent = 0; // the number of the last event that this browser window has sent
let chosen = "hidden_size"; // the slider that is visible on a phone, where only one fits

export default function ({ data, parentElement, setTriggerValue }) {
  let panel = panels.get(parentElement);
  if (!panel) panels.set(parentElement, (panel = new Panel(parentElement)));
  panel.send = (events) => setTriggerValue("events", events);
  panel.update(data);
  return () => panel.close();
}

class Panel {
  constructor(parent) {
    this.root = element("div", { class: "panel" });
    this.actions = element("div", { class: "panel-actions" });
    this.tabs = element("div", { class: "panel-tabs" });
    this.list = element("div", { class: "panel-fields" });
    this.root.append(this.actions, this.tabs, this.list);
    parent.append(this.root);
    this.fields = new Map();
    this.queue = [];
    this.open = []; // events that are sent but unanswered
    this.at = -Infinity; // the time when events were last sent
    this.pressed = -Infinity; // the time when a button was last pressed
    this.heldLink = null; // a page link that the reader clicked while an event was unanswered
    this.left = -Infinity; // the time when a field last lost the focus
    this.wanted = null; // undo, redo or reset, to be sent after the run of a button has drawn the panel
    window.bertcalcPanel = this; // for sliders on the page
    this.listen();
  }

  listen() {
    this.ended = new AbortController();
    const on = (target, name, does, capture = false) =>
      target.addEventListener(name, does, { signal: this.ended.signal, capture });
    on(document, "keydown", (event) => this.shortcut(event));
    on(document, "click", ({ target }) => target.closest?.("button, a") && (this.pressed = performance.now()), true);
    on(document, "click", (event) => this.holdLink(event), true);
    on(document, "focusout", ({ target }) => target.matches?.(FIELD) && (this.left = performance.now()), true);
    on(window, "bertcalc-drawn", ({ detail }) => this.answered(detail.event, detail));
    on(window, "bertcalc-ask", ({ detail }) => this.ask(detail)); // an event from another component
    on(window, "popstate", () => (this.drawn = null)); // the URL now belongs to another page
    this.runs = new MutationObserver(() => this.mendLink());
    this.runs.observe(document.querySelector(".stApp"), { attributeFilter: [STATE] });
  }

  close() {
    this.ended.abort();
    this.fields.forEach((field) => everyField.delete(field));
    this.runs.disconnect();
    clearTimeout(this.timer);
  }

  ask(event) {
    const last = this.queue.at(-1);
    // Add up steps in the same direction, but not steps back and forth: a step beyond the first or last value is lost.
    if (event.do === "go" && last?.do === "go" && last.by * event.by > 0) {
      last.by += event.by;
      last.held &&= event.held;
    } else this.queue.push({ ...event });
    this.next();
  }

  next() {
    if (this.open.length || !this.queue.length) return;
    const early = this.at + PACE - performance.now();
    if (early > 0 && this.queue.every(({ held }) => held)) return void setTimeout(() => this.next(), early);
    this.writeLink(); // Streamlit sends the URL together with the event
    const program = window.bertcalcLive?.data?.program; // the server need not send this program again
    this.open = this.queue.map((event) => ({ ...event, number: (sent += 1), program }));
    this.queue = [];
    this.at = performance.now();
    endWait();
    this.send(this.open);
    this.wait(TRIES);
  }

  wait(tries) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const busy = isRunning() || !isConnected();
      if (!tries) return this.answered(Infinity);
      if (!busy) this.send([...this.open]);
      this.wait(busy ? tries : tries - 1);
    }, PATIENCE);
  }

  // The server has drawn the page that answers the event with this number. It sends the number at the end of the page.
  answered(number, drawn = this.drawn) {
    if (drawn) [this.drawn, this.link] = [drawn, drawn.link];
    this.mendLink();
    const waited = this.open.length;
    this.open = this.open.filter((event) => event.number > number);
    if (!waited || this.open.length) return;
    clearTimeout(this.timer);
    this.next();
    everyField.forEach((field) => field.catchUp());
    this.settle();
    this.openHeldLink();
  }

  // Whether the server has yet to receive an event, or a value typed into one of Streamlit's fields.
  isAhead() {
    const isSending = performance.now() - this.left < SENDING;
    return isSending || this.queue.length > 0 || this.open.some(({ number }) => number > this.data.taken);
  }

  // If no slider moves and all events are answered, tell the page that the server has caught up.
  settle() {
    const moving = [...everyField].some(({ moved }) => moved);
    if (!this.open.length && !moving) window.dispatchEvent(new CustomEvent("bertcalc-settled"));
  }

  // Delay a click on a page link until the server has received the last move. Otherwise Streamlit would send the click
  // first and then the move with the old page, and the reader would stay on the old page. On a touchscreen, the same is
  // true for a typed number, whose field loses the focus when the reader taps the link.
  holdLink(event) {
    const link = event.target.closest?.(PAGE_LINK);
    if (!link || !this.isAhead() || !isConnected() || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.heldLink = link;
    setTimeout(() => this.openHeldLink(), SENDING);
  }

  openHeldLink() {
    if (!this.heldLink || this.isAhead()) return;
    const link = this.heldLink;
    this.heldLink = null;
    (link.isConnected ? link : document.querySelector(`a[href="${link.getAttribute("href")}"]`))?.click();
  }

  // Write the link once for each page, after the page is drawn and its run has ended. By then, Streamlit has removed
  // the parameters of the previous page.
  mendLink() {
    if (!this.drawn || this.open.length || isRunning()) return;
    this.writeLink();
    this.drawn = null;
  }

  // On a page that has just opened, write all parameters. Otherwise write only the model's parameters and the language,
  // because the reader may have changed another control.
  writeLink() {
    const names = this.drawn?.whole ? null : this.data.names;
    const ours = Object.entries(this.link).filter(([name]) => !names || names.includes(name));
    writeLink(names, Object.fromEntries(ours));
  }

  // A slider has moved to another stop: recompute the page, and update the fields that follow this slider.
  move({ name, stops, content: { followers, unlike } }, value, drag) {
    const sizes = { ...this.sizes(), [name]: value, ...followers[value] };
    for (const [other, size] of Object.entries(followers[value] ?? {})) this.fields.get(other)?.show(size);
    const alike = stops.includes(value) && !unlike.includes(value);
    window.dispatchEvent(new CustomEvent("bertcalc-sizes", { detail: { sizes, alike, drag } }));
  }

  sizes() {
    return Object.fromEntries([...this.fields.values()].map(({ name, value }) => [name, value]));
  }

  waits(name) {
    return [...this.open, ...this.queue].some((event) => event.field === name);
  }

  update(data) {
    this.data = data;
    sayIn(data.menu);
    this.link = data.link; // the same link as in the data of the page's end, which may arrive first
    writeLink(data.names, data.link);
    data.actions.forEach((action, at) => this.act(at, action));
    for (const [name, field] of this.fields) {
      if (!data.fields.some(({ name: drawn }) => drawn === name)) {
        field.remove();
        this.fields.delete(name);
      }
    }
    data.fields.forEach((content, at) => {
      if (!this.fields.has(content.name)) this.fields.set(content.name, new Field(this, content.name));
      const field = this.fields.get(content.name);
      if (this.list.children[at] !== field.root) {
        this.list.insertBefore(field.root, this.list.children[at] ?? null);
        this.tabs.insertBefore(field.tab, this.tabs.children[at] ?? null);
      }
      field.update(content);
    });
    this.choose(chosen);
    if (this.wanted) this.askWanted();
    this.openHeldLink();
  }

  choose(name) {
    chosen = name;
    const visible = this.fields.has(name) ? name : this.data.fields[0]?.name;
    for (const [fieldName, field] of this.fields) {
      field.root.classList.toggle("panel-chosen", fieldName === visible);
      field.tab.setAttribute("aria-pressed", fieldName === visible);
    }
  }

  // Keep the button element when an answer arrives. If the reader is pressing the button, the press is still a click.
  act(at, { label, title, touch, event, disabled }) {
    if (!this.actions.children[at]) this.actions.append(element("button", { type: "button" }));
    const button = this.actions.children[at];
    if (button.textContent !== label) button.textContent = label;
    button.title = NO_KEYS.matches ? touch : title;
    button.disabled = disabled;
    button.onclick = () => this.ask(event);
  }

  shortcut(event) {
    if (event.key === "Escape" && event.target.matches?.(LEFT)) event.target.blur(); // makes the page's shortcut keys work again
    const typing = event.target.closest?.("input:not([type=range]), textarea, [contenteditable=true]");
    if (typing || event.altKey) return;
    const key = `${event.ctrlKey || event.metaKey ? "ctrl+" : ""}${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`;
    const action = this.data?.actions.find((candidate) => candidate.keys.includes(key));
    if (!action) return;
    event.preventDefault();
    // Send a disabled undo if an event is unanswered, because this may be the event to undo. Streamlit's own buttons do
    // not send events of the panel. After a press of such a button, the action waits for its run.
    if (!action.disabled || this.open.length) this.ask({ ...action.event, held: event.repeat });
    else if (performance.now() - this.pressed < PRESS || isRunning()) this.wanted = action.event.do;
  }

  // Send the action of a key that the reader pressed while the run of a button was in progress.
  askWanted() {
    const action = this.data.actions.find(({ event, disabled }) => event.do === this.wanted && !disabled);
    this.wanted = null;
    if (action) this.ask(action.event);
  }
}

function isConnected() {
  return document.querySelector(".stApp")?.dataset.testConnectionState === "CONNECTED";
}

function isRunning() {
  return document.querySelector(".stApp")?.dataset.testScriptState === "running";
}

// Write the model's parameters into the URL, because Streamlit removes them when it opens another page. The parameters
// in ``link`` replace the parameters in ``names``, or all parameters if ``names`` is null. This adds no history entry:
// the server adds an entry for each step.
function writeLink(names, link) {
  const parts = window.location.search.slice(1).split("&").filter(Boolean);
  const others = parts.filter((part) => names && !names.includes(new URLSearchParams(part).keys().next().value));
  const ours = Object.entries(link).map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
  const before = parts.filter((part) => !others.includes(part));
  if ([...before].sort().join("&") === [...ours].sort().join("&")) return;
  const search = [...others, ...ours].join("&");
  window.history.replaceState(window.history.state, "", window.location.pathname + (search && `?${search}`));
}
