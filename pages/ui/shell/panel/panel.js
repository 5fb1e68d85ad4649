// The panel of the model's sliders (field.js): events for the server, undo, redo and reset, and the link. A drag or a
// held key sends one event, at its end. An event is sent at once if no event awaits an answer, otherwise when the page
// is drawn.

const PATIENCE = 2000; // ms after which an answer should have come, if no run is under way
const TRIES = 5; // how often events are sent again: Streamlit drops messages while it has no connection
const SENDING = 100; // ms within which Streamlit sends a typed value after its field loses the focus
const PACE = 500; // ms between two events of a held key
const PRESS = 500; // ms within which a run that a button requested has begun
const STATE = "data-test-script-state";
const LEFT = "[data-testid=stMain] :is(input[type=text], input[type=number], textarea):not([role], [role=dialog] *)";
const FIELD = "input[type=text], input[type=number], textarea";
const PAGE_LINK = ["stTopNavLink", "stTopNavDropdownLink", "stSidebarNavLink", "stPageLink-NavLink"]
  .map((id) => `[data-testid=${id}]`)
  .join();
const panels = new WeakMap();
let sent = 0; // the number of the last event of this browser window
let chosen = "hidden_size"; // the only slider that fits on a phone

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
    this.open = []; // events without an answer
    this.at = -Infinity; // when events were sent last
    this.pressed = -Infinity; // when a button was pressed last
    this.heldLink = null; // the link to a page that was clicked while an event was on its way
    this.left = -Infinity; // when a field was left last
    this.wanted = null; // undo, redo or reset, once a button's run has drawn the panel
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
    on(window, "bertcalc-ask", ({ detail }) => this.ask(detail)); // from another component of the page
    on(window, "popstate", () => (this.drawn = null)); // the address belongs to another page
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
    // Steps in one direction are added up. Steps back and forth are not, because each step stops at its own end.
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
    this.writeLink(); // an event goes out with the address
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

  // The page that answers the event with this number is drawn: the server sends the number at the end of the page.
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

  // Whether an event, or a value typed into one of Streamlit's fields, is on its way to the server.
  isAhead() {
    const isSending = performance.now() - this.left < SENDING;
    return isSending || this.queue.length > 0 || this.open.some(({ number }) => number > this.data.taken);
  }

  // Tell the page that nothing is ahead of the server, if no slider is moved and no event awaits an answer.
  settle() {
    const moving = [...everyField].some(({ moved }) => moved);
    if (!this.open.length && !moving) window.dispatchEvent(new CustomEvent("bertcalc-settled"));
  }

  // A click on another page waits until the server has taken the last move. Otherwise Streamlit sends the click first,
  // and then the move with the old page, so that the reader would stay there. On a touchscreen the same holds for a
  // typed number: its field loses the focus when the reader taps the link.
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

  // Write the link once for each page, when the page is drawn and its run has ended: by then, Streamlit has removed the
  // last page's parameters.
  mendLink() {
    if (!this.drawn || this.open.length || isRunning()) return;
    this.writeLink();
    this.drawn = null;
  }

  // Write all parameters of a page that was just opened; otherwise only the model's, because the reader may have
  // changed another control.
  writeLink() {
    const names = this.drawn?.whole ? null : this.data.names;
    const ours = Object.entries(this.link).filter(([name]) => !names || names.includes(name));
    writeLink(names, Object.fromEntries(ours));
  }

  // A slider is at another stop: the page is computed for it, and the fields that follow it show their values.
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
    this.link = data.link; // the end of the page has the same link, and may arrive first
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

  // Keep the button element between answers, so that a press during which an answer arrives is still a click.
  act(at, { label, title, event, disabled }) {
    if (!this.actions.children[at]) this.actions.append(element("button", { type: "button" }));
    const button = this.actions.children[at];
    if (button.textContent !== label) button.textContent = label;
    button.title = title;
    button.disabled = disabled;
    button.onclick = () => this.ask(event);
  }

  shortcut(event) {
    if (event.key === "Escape" && event.target.matches?.(LEFT)) event.target.blur(); // and the page has its keys again
    const typing = event.target.closest?.("input:not([type=range]), textarea, [contenteditable=true]");
    if (typing || event.altKey) return;
    const key = `${event.ctrlKey || event.metaKey ? "ctrl+" : ""}${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`;
    const action = this.data?.actions.find((candidate) => candidate.keys.includes(key));
    if (!action) return;
    event.preventDefault();
    // A disabled undo is sent if an event is under way, which may be the event to undo. Streamlit's own buttons are no
    // events of the panel: after a press, the action waits for their run.
    if (!action.disabled || this.open.length) this.ask({ ...action.event, held: event.repeat });
    else if (performance.now() - this.pressed < PRESS || isRunning()) this.wanted = action.event.do;
  }

  // Send the action of a key that was pressed before the page had answered a button.
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

// Write the model's parameters into the address, because Streamlit removes them when it opens another page. The link's
// parameters replace the parameters in names, or all if names is null. Nothing is added to the history: the server does
// that, once for each step.
function writeLink(names, link) {
  const parts = window.location.search.slice(1).split("&").filter(Boolean);
  const others = parts.filter((part) => names && !names.includes(new URLSearchParams(part).keys().next().value));
  const ours = Object.entries(link).map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
  const before = parts.filter((part) => !others.includes(part));
  if ([...before].sort().join("&") === [...ours].sort().join("&")) return;
  const search = [...others, ...ours].join("&");
  window.history.replaceState(window.history.state, "", window.location.pathname + (search && `?${search}`));
}
