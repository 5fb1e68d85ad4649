// The sliders of the model. While one is moved, the browser computes the page (live.js); the server is told when it is
// let go. An event is sent at once if none awaits an answer, otherwise when the page is drawn.

const PATIENCE = 2000; // ms after which an answer should have come, if no run is under way
const TRIES = 5; // how often an event is sent again if a connection or an interrupted run lost it
const PRESS = 500; // ms within which a run that a button requested has begun
const LEFT = "[data-testid=stMain] :is(input[type=text], input[type=number], textarea):not([role], [role=dialog] *)";
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
    this.awaited = null; // the number of the last event that was sent, until the page that answers it is drawn
    this.open = []; // events without an answer: sent again with the next, as Streamlit may drop an older message
    this.pressed = -Infinity; // when a button was pressed last
    this.wanted = null; // undo, redo or reset, once a button's run has drawn the panel
    this.clicked = ({ target }) => target.closest?.("button, a") && (this.pressed = performance.now());
    this.keys = (event) => this.shortcut(event);
    this.drawn = ({ detail }) => this.answered(detail.event, detail.link, detail.whole);
    this.asked = ({ detail }) => this.ask(detail);
    document.addEventListener("keydown", this.keys);
    document.addEventListener("click", this.clicked, true);
    window.addEventListener("bertcalc-drawn", this.drawn);
    window.addEventListener("bertcalc-ask", this.asked); // from another component of the page
  }

  close() {
    document.removeEventListener("keydown", this.keys);
    document.removeEventListener("click", this.clicked, true);
    window.removeEventListener("bertcalc-drawn", this.drawn);
    window.removeEventListener("bertcalc-ask", this.asked);
    clearTimeout(this.timer);
  }

  // A released slider is a step, as repairs and locks are.
  ask(event) {
    const last = this.queue.at(-1);
    // Steps in one direction are added up; steps back and forth are not, as each stops at its end.
    if (event.do === "go" && last?.do === "go" && last.by * event.by > 0) last.by += event.by;
    else this.queue.push({ ...event });
    this.next();
  }

  next() {
    if (this.awaited !== null || !this.queue.length) return;
    this.mendLink(false); // an event goes out with the address
    this.open.push(...this.queue.map((event) => ({ ...event, number: (sent += 1) })));
    this.queue = [];
    this.awaited = sent;
    this.send(this.open);
    this.wait(TRIES);
  }

  // Send events without an answer again: Streamlit drops messages while it has no connection.
  wait(tries) {
    this.timer = setTimeout(() => {
      const { testConnectionState, testScriptState } = document.querySelector(".stApp")?.dataset ?? {};
      const busy = testConnectionState !== "CONNECTED" || testScriptState === "running";
      if (!tries) return this.answered(Infinity);
      if (!busy) this.send([...this.open]);
      this.wait(busy ? tries : tries - 1);
    }, PATIENCE);
  }

  // The page that answers an event is drawn: the server sends the event's number at the end of the page.
  answered(number, link = this.link, whole = this.whole) {
    [this.link, this.whole] = [link, whole];
    // Now, and once Streamlit has removed the last page's bound parameters, which it does after the end of the page.
    for (const later of [0, 500]) setTimeout(() => this.mendLink(later > 0), later);
    if (number !== Infinity) this.open = this.open.filter((event) => event.number > number);
    if (this.awaited === null || number < this.awaited) return;
    clearTimeout(this.timer);
    this.awaited = null;
    this.next();
    this.fields.forEach((field) => field.catchUp());
    this.settle();
  }

  // Nothing is ahead of the server: no slider is moved, and no event awaits an answer.
  settle() {
    const moving = [...this.fields.values()].some(({ moved }) => moved);
    if (this.awaited === null && !moving) window.dispatchEvent(new CustomEvent("bertcalc-settled"));
  }

  // Not while the next event or Back is under way: the address may be theirs already, before the panel shows them.
  mendLink(idle) {
    const running = document.querySelector(".stApp")?.dataset.testScriptState !== "notRunning";
    if (this.awaited !== null || (idle && running)) return;
    // The whole address only now: half a second later the reader may have changed another control.
    const names = this.whole && !idle ? null : this.data.names;
    const ours = Object.entries(this.link).filter(([name]) => names === null || names.includes(name));
    writeLink(names, Object.fromEntries(ours));
  }

  // A slider is at another stop: the page is computed for it, and the fields that follow it show their values.
  move({ name, stops, content: { followers, alike } }, value, drag) {
    const at = stops.indexOf(value);
    const sizes = { ...this.sizes(), [name]: value, ...followers[at] };
    for (const [other, size] of Object.entries(followers[at] ?? {})) this.fields.get(other)?.show(size);
    window.dispatchEvent(new CustomEvent("bertcalc-sizes", { detail: { sizes, alike: alike[at] ?? false, drag } }));
  }

  sizes() {
    return Object.fromEntries([...this.fields.values()].map(({ name, value }) => [name, value]));
  }

  waits(name) {
    const under = this.awaited === null ? [] : this.open;
    return [...under, ...this.queue].some((event) => event.field === name);
  }

  update(data) {
    this.data = data;
    sayIn(data.menu);
    this.link = data.link; // the end of the page has the same link, and may arrive first
    writeLink(data.names, data.link);
    data.actions.forEach((action, at) => this.act(at, action));
    for (const [name, field] of this.fields) {
      if (!data.fields.some(({ name: drawn }) => drawn === name)) {
        field.root.remove();
        field.tab.remove();
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
  }

  choose(name) {
    chosen = name;
    const visible = this.fields.has(name) ? name : this.data.fields[0]?.name;
    for (const [fieldName, field] of this.fields) {
      field.root.classList.toggle("panel-chosen", fieldName === visible);
      field.tab.setAttribute("aria-pressed", fieldName === visible);
    }
  }

  // Keep the button between answers: a press during which an answer arrives is still a click.
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
    // The event under way may be the one to undo; a button of Streamlit's is not an event of the panel.
    if (!action.disabled || this.awaited !== null) this.ask(action.event);
    else if (performance.now() - this.pressed < PRESS || isRunning()) this.wanted = action.event.do;
  }

  // A key that was pressed before the page had answered a button.
  askWanted() {
    const action = this.data.actions.find(({ event, disabled }) => event.do === this.wanted && !disabled);
    this.wanted = null;
    if (action) this.ask(action.event);
  }
}

const isRunning = () => document.querySelector(".stApp")?.dataset.testScriptState === "running";

class Field {
  constructor(panel, name) {
    this.panel = panel;
    this.name = name;
    this.title = element("span", { class: "panel-title" });
    this.exact = element("input", { type: "text", inputmode: "numeric", autocomplete: "off", role: "spinbutton" });
    this.range = element("input", { type: "range", step: "any" });
    this.lock = element("button", { type: "button", class: "panel-lock" });
    this.note = element("p", { class: "panel-note" });
    this.problem = element("div", { class: "panel-problem", role: "alert" });
    const head = element("div", { class: "panel-head", children: [this.title, this.exact] });
    const children = [head, this.range, this.lock, this.note, this.problem];
    this.root = element("div", { class: `panel-field st-key-${name}_slider`, children });
    this.letter = element("i");
    this.now = element("span");
    this.tab = element("button", { type: "button", children: [this.letter, " ", this.now] });
    this.tab.onclick = () => panel.choose(name);
    [this.held, this.moves] = [false, 0]; // by a pointer or a key, and how often since the pointer came
    this.listen();
  }

  listen() {
    const { range, exact } = this;
    range.addEventListener("pointerdown", () => {
      [this.held, this.moves] = [true, 0];
      this.before = this.value;
    });
    range.addEventListener("pointerup", () => {
      this.letGo();
      if (this.panel.data.lecture) range.blur(); // so that the arrow keys lead through the lecture again
    });
    range.addEventListener("pointercancel", () => {
      this.move(this.before); // a finger that moved up or down scrolls the page
      this.moved = this.held = false;
      this.panel.settle();
    });
    range.addEventListener("input", () => this.move(this.nearest(Number(range.value)), (this.moves += 1) > 1));
    range.addEventListener("change", () => this.letGo());
    range.addEventListener("keydown", (event) => {
      const to = this.step(event.key, this.value);
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^[a-z]$/i.test(event.key)) {
        // A letter is a shortcut of the page; Streamlit ignores shortcuts in a field, which a slider is to it.
        const { key, code, keyCode, which } = event;
        range.blur();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code, keyCode, which, bubbles: true }));
      }
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.held = true;
      this.move(to, event.repeat);
    });
    for (const end of ["keyup", "blur"]) range.addEventListener(end, () => this.letGo());
    exact.addEventListener("keydown", (event) => {
      event.stopPropagation(); // a letter is no shortcut here
      if (event.key === "Enter") this.type();
      if (event.key === "Escape") this.restore();
      if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        event.preventDefault();
        this.move(this.step(event.key, this.value));
        this.letGo();
      }
    });
    exact.addEventListener("input", () => (this.typing = true));
    exact.addEventListener("blur", () => this.type()); // there is no "change" if the same text is typed again
    exact.addEventListener("focus", () => exact.select());
  }

  // The stop that a key leads to from a value, which may not be a stop itself.
  step(key, value) {
    const { stops } = this;
    const far = Math.max(1, Math.round(stops.length / 10));
    const above = stops.findIndex((stop) => stop > value);
    const up = (by) => (above < 0 ? stops.length - 1 : Math.min(above + by - 1, stops.length - 1));
    const below = stops.findLastIndex((stop) => stop < value);
    const down = (by) => Math.max(below - by + 1, 0);
    const to = {
      ArrowRight: up(1),
      ArrowUp: up(1),
      ArrowLeft: down(1),
      ArrowDown: down(1),
      Home: 0,
      End: stops.length - 1,
      ...(this.panel.data.lecture ? {} : { PageUp: up(far), PageDown: down(far) }),
    }[key];
    return stops[to];
  }

  nearest(value) {
    return this.stops.reduce((best, stop) => (Math.abs(stop - value) < Math.abs(best - value) ? stop : best));
  }

  // A drag is one of several moves of a hand, not a jump such as a click.
  move(value, drag = false) {
    if (value === this.value) return this.show(value); // at its stop, not between two
    this.moved = true;
    this.wrong(null);
    this.show(value);
    this.panel.move(this, value, drag);
  }

  letGo() {
    this.held = false;
    if (this.moved) this.ask();
    this.moved = false;
  }

  ask() {
    this.panel.ask({ do: "move", field: this.name, value: this.value });
  }

  type() {
    if (!this.typing) return;
    this.typing = false;
    const text = this.exact.value;
    if (text === this.shown) return this.catchUp();
    this.shown = text;
    this.panel.ask({ do: "type", field: this.name, text });
  }

  restore() {
    this.typing = false;
    this.show(this.value);
    if (this.content.problem !== null) this.ask();
  }

  show(value) {
    this.value = value;
    this.write(value.toLocaleString("en-US"));
    this.now.textContent = value.toLocaleString("en-US");
    const [low, high] = [this.stops[0], this.stops.at(-1)];
    const at = Math.min(Math.max(value, low), high);
    this.range.value = at;
    this.range.style.setProperty("--part", high > low ? (at - low) / (high - low) : 0);
    this.range.setAttribute("aria-valuetext", value.toLocaleString("en-US"));
  }

  write(text) {
    if (this.typing) return;
    this.shown = text;
    this.exact.value = text;
    this.exact.setAttribute("aria-valuenow", text.replaceAll(",", ""));
  }

  update(content) {
    this.content = content;
    this.title.replaceChildren(element("span", { text: content.label }), element("i", { text: content.letter }));
    this.letter.textContent = content.letter;
    this.tab.title = content.label;
    this.title.title = content.help; // not of the whole field, where it would cover the value
    this.range.setAttribute("aria-label", content.slider);
    this.exact.setAttribute("aria-label", content.exact);
    this.catchUp();
  }

  // Show the server's values, unless the slider is held or one of its events has no answer yet.
  catchUp() {
    const { content } = this;
    if (this.held || this.panel.waits(this.name)) return;
    this.stops = content.stops;
    [this.range.min, this.range.max] = [content.stops[0], content.stops.at(-1)];
    this.exact.setAttribute("aria-valuemin", 1);
    this.show(content.value);
    if (content.typed !== null) this.write(content.typed);
    this.lock.hidden = !content.lock;
    if (content.lock) {
      this.lock.textContent = content.lock.label;
      this.lock.title = content.lock.title;
      this.lock.setAttribute("aria-pressed", content.lock.closed);
      this.lock.onclick = () => this.panel.ask({ do: "lock", name: content.lock.name, closed: !content.lock.closed });
    }
    this.note.hidden = !content.note;
    this.note.textContent = content.note ?? "";
    this.wrong(content.problem);
  }

  wrong(problem) {
    this.root.classList.toggle("panel-wrong", problem !== null);
    this.exact.setAttribute("aria-invalid", problem !== null);
    this.problem.replaceChildren();
    if (problem === null) return;
    const repairs = problem.repairs.map((label, number) => {
      const made = element("button", { type: "button", text: label });
      made.onclick = () => this.panel.ask({ do: "repair", field: this.name, repair: number });
      return made;
    });
    this.problem.append(element("p", { text: problem.text }), ...repairs);
  }
}

// Write the model's parameters into the address, because Streamlit removes them when it opens another page: those in
// names are replaced by the link's, or all if names is null. Nothing is added to the history: the server does that,
// once for each step.
function writeLink(names, link) {
  const parts = window.location.search.slice(1).split("&").filter(Boolean);
  const others = parts.filter((part) => names && !names.includes(new URLSearchParams(part).keys().next().value));
  const ours = Object.entries(link).map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
  const before = parts.filter((part) => !others.includes(part));
  if ([...before].sort().join("&") === [...ours].sort().join("&")) return;
  const search = [...others, ...ours].join("&");
  window.history.replaceState(window.history.state, "", window.location.pathname + (search && `?${search}`));
}
