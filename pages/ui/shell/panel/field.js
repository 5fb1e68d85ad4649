// A slider with its number field, its lock and its message. While the slider moves, the browser recomputes the page.

const everyField = (window.bertcalcFields ??= new Set()); // the fields of all components

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
    [this.held, this.moves] = [false, 0]; // whether a pointer or key holds the slider, and its moves since pointerdown
    everyField.add(this);
    this.listen();
  }

  remove() {
    this.root.remove();
    this.tab.remove();
    everyField.delete(this);
  }

  listen() {
    const { range, exact } = this;
    range.addEventListener("pointerdown", () => {
      [this.held, this.moves] = [true, 0];
      this.before = this.value;
    });
    range.addEventListener("pointerup", () => {
      this.letGo();
      if (this.panel.data.lecture) range.blur(); // lets the arrow keys step through the lecture again
    });
    range.addEventListener("pointercancel", () => {
      this.move(this.before); // the finger has scrolled the page instead
      this.moved = this.held = false;
      this.panel.settle();
    });
    range.addEventListener("input", () => this.move(this.nearest(Number(range.value)), (this.moves += 1) > 1));
    range.addEventListener("change", () => this.letGo());
    range.addEventListener("keydown", (event) => {
      const to = this.step(event.key, this.value);
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^[a-z]$/i.test(event.key)) {
        // A letter is a shortcut of the page. Streamlit ignores shortcuts in input fields, including sliders. So pass
        // the key on to the page.
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
      event.stopPropagation(); // letters in the field are not shortcuts
      if (event.key === "Enter") this.type();
      if (event.key === "Escape") this.restore();
      if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        event.preventDefault();
        this.move(this.step(event.key, this.value), event.repeat);
      }
    });
    exact.addEventListener("keyup", () => this.letGo());
    exact.addEventListener("input", () => (this.typing = true));
    exact.addEventListener("blur", () => {
      this.letGo();
      this.type(); // there is no "change" event if the same text is typed again
    });
    exact.addEventListener("focus", () => exact.select());
  }

  // The stop to which a key moves the slider from a value, which may lie between two stops.
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
    if (this.content.even) return this.stops[Math.round(value)];
    return this.stops.reduce((best, stop) => (Math.abs(stop - value) < Math.abs(best - value) ? stop : best));
  }

  // The position of a value on the slider. The stops are spaced like their numbers, or evenly.
  placeOf(value) {
    return this.content.even ? this.stops.findLastIndex((stop) => stop <= value) : value;
  }

  // A move is a drag if it is one of several moves in a row, and not a jump such as a click.
  move(value, drag = false) {
    if (value === this.value) return this.show(value); // puts the slider back to its stop
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
    const [low, high] = [this.stops[0], this.stops.at(-1)].map((stop) => this.placeOf(stop));
    const at = Math.min(Math.max(this.placeOf(value), low), high);
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
    this.title.title = content.help; // on the whole field, the tooltip would cover the value
    this.range.setAttribute("aria-label", content.slider);
    this.exact.setAttribute("aria-label", content.exact);
    this.catchUp();
  }

  // Show the server's values, unless the reader holds the slider or an event of the slider is unanswered.
  catchUp() {
    const { content } = this;
    if (this.held || this.panel.waits(this.name)) return;
    this.stops = content.stops;
    [this.range.min, this.range.max] = [content.stops[0], content.stops.at(-1)].map((stop) => this.placeOf(stop));
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
