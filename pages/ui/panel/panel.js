// The sliders of the model. What a hand does is shown at once and sent to the server at once, if nothing is under way:
// what comes then goes together when the page is drawn, of the places that a drag passed meanwhile only the last.
// So a drag asks for no more than the server gives, and the last value always wins.

const PATIENCE = 2000; // ms after which an answer should be there, where no run is under way
const TRIES = 5; // to send what was lost: with a connection, or with a run that was cut short
const GRIP = 100; // ms in which a press of a key, or a click, is over: it asks once
const panels = new WeakMap();
let sent = 0; // the number of the last event of this browser window
let chosen = "hidden_size"; // the slider that a phone shows, which has room for one

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
    this.awaited = null; // the number of the last event that was sent, until the page is drawn that answers it
    this.open = []; // what was sent and not yet answered: sent again with the next, as Streamlit may drop an older one
    this.keys = (event) => this.shortcut(event);
    this.drawn = ({ detail }) => this.answered(detail.event, detail.link, detail.whole);
    this.asked = ({ detail }) => this.ask(detail);
    document.addEventListener("keydown", this.keys);
    window.addEventListener("bertcalc-drawn", this.drawn);
    window.addEventListener("bertcalc-ask", this.asked); // another component of the page has something to send
  }

  close() {
    document.removeEventListener("keydown", this.keys);
    window.removeEventListener("bertcalc-drawn", this.drawn);
    window.removeEventListener("bertcalc-ask", this.asked);
    clearTimeout(this.timer);
  }

  // Where a slider that is held has passed is overtaken; where a hand let go is a step, as repairs and locks are.
  ask(event) {
    this.queue = this.queue.filter((one) => one.do !== "move" || one.final || one.field !== event.field);
    const last = this.queue.at(-1);
    // Steps the same way are one; back and forth are not, as both end where there is nothing further.
    if (event.do === "go" && last?.do === "go" && last.by * event.by > 0) last.by += event.by;
    else this.queue.push({ ...event });
    this.next();
  }

  next() {
    if (this.awaited !== null || !this.queue.length) return;
    this.open.push(...this.queue.map((event) => ({ ...event, number: (sent += 1) })));
    this.queue = [];
    this.awaited = sent;
    this.send(this.open);
    this.wait(TRIES);
  }

  // Streamlit drops what is sent while it has no connection.
  wait(tries) {
    this.timer = setTimeout(() => {
      const { testConnectionState, testScriptState } = document.querySelector(".stApp")?.dataset ?? {};
      const busy = testConnectionState !== "CONNECTED" || testScriptState === "running";
      if (!tries) return this.answered(Infinity);
      if (!busy) this.send([...this.open]);
      this.wait(busy ? tries : tries - 1);
    }, PATIENCE);
  }

  // The page is drawn that answers an event: the server says its number at the page's end.
  answered(number, link = this.link, whole = this.whole) {
    [this.link, this.whole] = [link, whole];
    // Now, and when Streamlit has taken out what the page before it had bound, which it does after the page's end.
    for (const later of [0, 500]) setTimeout(() => this.mendLink(later > 0), later);
    if (number !== Infinity) this.open = this.open.filter((event) => event.number > number);
    if (this.awaited === null || number < this.awaited) return;
    clearTimeout(this.timer);
    this.awaited = null;
    this.next();
    this.fields.forEach((field) => field.catchUp());
  }

  // Not while the next event or Back is under way: their link may be there before what the panel shows of them.
  mendLink(idle) {
    const running = document.querySelector(".stApp")?.dataset.testScriptState !== "notRunning";
    if (this.awaited !== null || (idle && running)) return;
    // The whole address at once alone: half a second later somebody may have changed another control.
    const names = this.whole && !idle ? null : this.data.names;
    const ours = Object.entries(this.link).filter(([name]) => names === null || names.includes(name));
    writeLink(names, Object.fromEntries(ours));
  }

  waits(name) {
    const under = this.awaited === null ? [] : this.open;
    return [...under, ...this.queue].some((event) => event.field === name);
  }

  update(data) {
    this.data = data;
    sayIn(data.menu);
    this.link = data.link; // as is said at the page's end, too, which may be heard before
    writeLink(data.names, data.link);
    data.actions.forEach((action, at) => this.act(at, action));
    for (const [name, field] of this.fields) {
      if (!data.fields.some((one) => one.name === name)) {
        field.root.remove();
        field.tab.remove();
        this.fields.delete(name);
      }
    }
    data.fields.forEach((said, at) => {
      if (!this.fields.has(said.name)) this.fields.set(said.name, new Field(this, said.name));
      const field = this.fields.get(said.name);
      if (this.list.children[at] !== field.root) {
        this.list.insertBefore(field.root, this.list.children[at] ?? null);
        this.tabs.insertBefore(field.tab, this.tabs.children[at] ?? null);
      }
      field.update(said);
    });
    this.choose(chosen);
  }

  choose(name) {
    chosen = name;
    const shown = this.fields.has(name) ? name : this.data.fields[0]?.name;
    for (const [own, field] of this.fields) {
      field.root.classList.toggle("panel-chosen", own === shown);
      field.tab.setAttribute("aria-pressed", own === shown);
    }
  }

  // The button stays the same from answer to answer: a press that an answer comes into is a click all the same.
  act(at, { label, title, event, disabled }) {
    if (!this.actions.children[at]) this.actions.append(element("button", { type: "button" }));
    const button = this.actions.children[at];
    if (button.textContent !== label) button.textContent = label;
    button.title = title;
    button.disabled = disabled;
    button.onclick = () => this.ask(event);
  }

  shortcut(event) {
    const typing = event.target.closest?.("input:not([type=range]), textarea, [contenteditable=true]");
    if (typing || event.altKey) return;
    const key = `${event.ctrlKey || event.metaKey ? "ctrl+" : ""}${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`;
    const action = this.data?.actions.find((one) => one.keys.includes(key));
    if (!action) return;
    event.preventDefault();
    if (!action.disabled || this.awaited !== null) this.ask(action.event); // what is under way may be what is to be undone
  }
}

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
    this.held = false; // by a pointer or by a key
    this.listen();
  }

  listen() {
    const { range, exact } = this;
    range.addEventListener("pointerdown", () => {
      this.held = true;
      this.before = this.value;
    });
    range.addEventListener("pointerup", () => {
      this.letGo();
      if (this.panel.data.lecture) range.blur(); // the arrow keys lead through the lecture again
    });
    range.addEventListener("pointercancel", () => {
      this.show(this.before); // a finger that went up or down scrolls the page
      this.letGo();
    });
    range.addEventListener("input", () => this.move(this.nearest(Number(range.value))));
    range.addEventListener("change", () => this.letGo());
    range.addEventListener("keydown", (event) => {
      const to = this.step(event.key, this.value);
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^[a-z]$/i.test(event.key)) {
        // A letter is a shortcut of the page, which takes none from a field, and a slider is one to it.
        const { key, code, keyCode, which } = event;
        range.blur();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code, keyCode, which, bubbles: true }));
      }
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.held = true;
      this.move(to);
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
    exact.addEventListener("blur", () => this.type()); // "change" does not come where the same is typed again
    exact.addEventListener("focus", () => exact.select());
  }

  // The stop that a key leads to from a value, which need not be one itself.
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

  move(value) {
    if (value !== this.value) {
      this.wrong(null);
      this.show(value);
      if (this.following) this.ask(false);
      else this.grip ??= setTimeout(() => this.follow(), GRIP);
    }
    this.show(value);
  }

  follow() {
    this.following = true;
    this.ask(false);
  }

  letGo() {
    this.held = this.following = false;
    if (this.grip === undefined) return;
    clearTimeout(this.grip);
    this.grip = undefined;
    this.ask(true);
  }

  ask(final) {
    this.panel.ask({ do: "move", field: this.name, value: this.value, final });
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
    if (this.said.problem !== null) this.ask(true);
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

  update(said) {
    this.said = said;
    this.title.replaceChildren(element("span", { text: said.label }), element("i", { text: said.letter }));
    this.letter.textContent = said.letter;
    this.tab.title = said.label;
    this.title.title = said.help; // not of the whole: it would cover the value
    this.range.setAttribute("aria-label", said.slider);
    this.exact.setAttribute("aria-label", said.exact);
    this.catchUp();
  }

  // Show what the server said, unless the hand is further than its answer.
  catchUp() {
    const { said } = this;
    if (this.held || this.grip !== undefined || this.panel.waits(this.name)) return;
    this.stops = said.stops;
    [this.range.min, this.range.max] = [said.stops[0], said.stops.at(-1)];
    this.exact.setAttribute("aria-valuemin", 1);
    this.show(said.value);
    if (said.typed !== null) this.write(said.typed);
    this.lock.hidden = !said.lock;
    if (said.lock) {
      this.lock.textContent = said.lock.label;
      this.lock.title = said.lock.title;
      this.lock.setAttribute("aria-pressed", said.lock.closed);
      this.lock.onclick = () => this.panel.ask({ do: "lock", name: said.lock.name, closed: !said.lock.closed });
    }
    this.note.hidden = !said.note;
    this.note.textContent = said.note ?? "";
    this.wrong(said.problem);
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

// The address says the model on every page: Streamlit leaves it out where it opens another page. There, and where the
// names of what is ours are null, the link is the whole address. Nothing is added to the history: the server does that,
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
