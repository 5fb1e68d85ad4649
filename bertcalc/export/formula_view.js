// A model's sliders, total, formula and bars, computed by a program: in the interactive page, and in a notebook.

function made(kind, text, attributes = {}) {
  const element = document.createElement(kind);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

class FormulaView {
  // Draws into a parent; ``settle`` gets the sizes when the hand lets go.
  constructor(parent, content, settle = () => {}) {
    this.content = content;
    this.settle = settle;
    this.program = new Program(content.operations);
    this.root = made("div", "", { class: "bertcalc-view" });
    this.total = made("output", "", { "aria-live": "off" });
    this.change = made("span", "", { class: "change" });
    this.formula = made("div", "", { class: "formula" });
    this.sliders = content.sliders.map((slider) => this.slider(slider));
    this.bars = content.bars.map((bar) => this.bar(bar));
    const bars = made("section", "", { "aria-label": content.parts });
    bars.append(...this.bars.map(({ row }) => row));
    const sliders = this.sliders.map(({ label }) => label);
    this.legend = made("p", "", { class: "legend" });
    this.root.append(this.total, this.change, this.formula, this.legend, ...sliders, bars, made("p", content.remark, { class: "remark" }));
    parent.append(this.root);
    this.show(content.sizes);
  }

  slider(slider) {
    const input = made("input", "", { type: "range", min: 0, max: slider.stops.length - 1, step: 1 });
    const number = made("span", "");
    const label = made("label", "");
    label.append(made("span", slider.label), input, number);
    let moves = 0; // since the hand has come
    input.addEventListener("pointerdown", () => (moves = 0));
    input.addEventListener("keydown", ({ repeat }) => (moves = repeat ? 1 : 0));
    input.addEventListener("input", () => {
      moves += 1;
      this.root.classList.toggle("glides", moves === 1);
      this.sizes = { ...this.sizes, [slider.field]: slider.stops[input.value], ...slider.followers[input.value] };
      this.frame ??= requestAnimationFrame(() => this.draw());
    });
    input.addEventListener("change", () => {
      this.total.setAttribute("aria-live", "polite"); // a screen reader says the total when the hand rests
      this.settle(this.sizes);
    });
    return { ...slider, label, input, number };
  }

  bar(bar) {
    const row = made("div", "", { class: "row" });
    const line = made("div", "", { class: "bar" });
    const [fill, ghost, text] = ["fill", "ghost", "text"].map((name) => made("div", "", { class: name }));
    line.style.setProperty("--color", bar.color);
    line.append(fill, ghost, text);
    row.append(made("span", bar.name), line);
    return { ...bar, row, fill, ghost, text };
  }

  show(sizes) {
    this.sizes = sizes;
    for (const { field, stops, input } of this.sliders) input.value = stops.indexOf(sizes[field]);
    this.draw();
  }

  draw() {
    this.frame = null;
    const { program, content, sizes } = this;
    program.run(sizes);
    this.total.textContent = program.value(content.total);
    this.change.textContent = program.value(content.change);
    this.formula.replaceChildren(...content.formula.map((line) => made("div", program.value(line))));
    this.legend.textContent = program.value(content.legend);
    for (const { field, number, input } of this.sliders) {
      number.textContent = sizes[field].toLocaleString("en-US");
      input.setAttribute("aria-valuetext", number.textContent);
    }
    const limit = Number(program.value(content.limit));
    for (const { figure, label, before, fill, ghost, text } of this.bars) {
      fill.style.setProperty("--part", Number(program.value(figure)) / limit);
      ghost.style.setProperty("--part", before / limit);
      text.textContent = program.value(label);
    }
  }
}
