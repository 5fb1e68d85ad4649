// The interactive page of a model: sliders, total, formula and bars, computed by the page's program.

const program = new Program(PAGE.operations);
const sizes = { ...PAGE.sizes };
const at = (id) => document.getElementById(id);

function made(kind, text, attributes = {}) {
  const element = document.createElement(kind);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

const sliders = PAGE.sliders.map((slider) => {
  const input = made("input", "", { type: "range", min: 0, max: slider.stops.length - 1, step: 1 });
  input.value = slider.stops.indexOf(sizes[slider.field]);
  const number = made("span", "");
  const label = made("label", "");
  label.append(made("span", slider.label), input, number);
  at("sliders").append(label);
  input.addEventListener("input", () => {
    Object.assign(sizes, { [slider.field]: slider.stops[input.value] }, slider.followers[input.value]);
    frame ??= requestAnimationFrame(draw);
  });
  // A screen reader says the total when the hand rests.
  input.addEventListener("change", () => at("total").setAttribute("aria-live", "polite"));
  return { ...slider, input, number };
});
const bars = PAGE.bars.map((bar) => {
  const row = made("div", "", { class: "row" });
  const line = made("div", "", { class: "bar" });
  const [fill, ghost, text] = ["fill", "ghost", "text"].map((name) => made("div", "", { class: name }));
  line.style.setProperty("--color", bar.color);
  line.append(fill, ghost, text);
  row.append(made("span", bar.name), line);
  at("bars").append(row);
  return { ...bar, fill, ghost, text };
});
let frame = null;

function draw() {
  frame = null;
  program.run(sizes);
  at("total").textContent = program.value(PAGE.total);
  at("change").textContent = program.value(PAGE.change);
  at("formula").replaceChildren(...PAGE.formula.map((line) => made("div", program.value(line))));
  for (const { field, number, input } of sliders) {
    number.textContent = sizes[field].toLocaleString("en-US");
    input.setAttribute("aria-valuetext", number.textContent);
  }
  const limit = Number(program.value(PAGE.limit));
  for (const { figure, label, before, fill, ghost, text } of bars) {
    fill.style.width = `${(70 * Number(program.value(figure))) / limit}%`;
    ghost.style.width = `${(70 * before) / limit}%`;
    text.textContent = program.value(label);
  }
}

draw();
