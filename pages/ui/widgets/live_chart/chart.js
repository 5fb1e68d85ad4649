// A Vega-Lite chart whose data the page's program can recompute. Streamlit's own chart does not expose its Vega view.

const charts = new WeakMap();
const ROWS = "empty"; // the name of the data set in the specification that receives the rows

export default function ({ data, parentElement, setTriggerValue }) {
  if (!charts.has(parentElement)) charts.set(parentElement, new Chart(parentElement));
  charts.get(parentElement).update(data, (chosen) => setTriggerValue("chosen", chosen));
  return () => {
    charts.get(parentElement)?.close();
    charts.delete(parentElement);
  };
}

function loaded(address) {
  return (window.bertcalcVega ??= new Promise((resolve, reject) => {
    const script = element("script", { type: "module", src: new URL(address, document.baseURI) });
    script.onload = () => resolve(window.vega);
    script.onerror = reject;
    document.head.append(script);
  }));
}

class Chart {
  constructor(parent) {
    this.root = element("div", { class: "stVegaLiteChart", "data-testid": "stVegaLiteChart" });
    parent.append(this.root);
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(this.root);
  }

  fit() { // Vega reacts only to the window's width, but projector view changes the width of the page
    const width = this.root.clientWidth;
    const isWide = this.spec?.signals.some(({ name }) => name === "width");
    if (!this.view || !isWide || !width || width === this.width) return;
    this.width = width;
    this.view.signal("width", width).runAsync();
  }

  update(data, choose) {
    this.choose = choose;
    this.data = data;
    this.rows = rowsOf(data.columns);
    if (Object.keys(data.live).length) joinPart(data.key, this, data.run, (value) => this.draw(value));
    else leavePart(data.key, this);
    const text = data.spec + data.alt;
    if (text === this.text) this.redraw();
    else {
      this.text = text;
      this.spec = JSON.parse(data.spec);
      this.embed();
    }
  }

  async embed() {
    const { spec } = this;
    const vega = await loaded(this.data.vega);
    if (spec !== this.spec) return; // a newer specification has replaced this one
    const before = looksIn(this.root);
    const drawn = this.rows;
    const whole = {
      ...spec,
      description: this.data.alt,
      data: spec.data.map((set) => (set.name === ROWS ? { ...set, values: drawn } : set)),
    };
    const view = new vega.View(vega.parse(whole, {}, { ast: true }), {
      expr: EXPRESSIONS,
      logLevel: vega.Error, // otherwise Vega warns about charts that have no data yet
      renderer: "svg",
      tooltip: showTooltip,
    });
    this.view?.finalize();
    this.view = view.initialize(this.root);
    this.width = this.root.clientWidth;
    for (const name of this.data.params) {
      view.addSignalListener(name, (_name, { vlPoint }) => vlPoint && this.choose({ [name]: vlPoint.or }));
    }
    await view.runAsync();
    if (view !== this.view) return;
    if (this.rows === drawn) glideFrom(before, this.root);
    else this.redraw(before);
    this.fit();
  }

  draw(value) {
    let isOlder = false;
    const rows = rowsOf(this.data.columns, (name, at) => {
      const argument = this.data.live[name]?.[at];
      const computed = argument ? value(argument) : null;
      if (argument && computed === null) isOlder = true;
      return typeof computed === "bigint" ? Number(computed) : computed;
    });
    this.root.classList.toggle("without-value", isOlder);
    if (isOlder) return; // keep the previous rows instead of mixing old and new rows
    this.rows = rows;
    this.redraw();
  }

  async redraw(before = looksIn(this.root)) {
    await this.view?.data(ROWS, this.rows).resize().runAsync(); // resize because labels beside bars can get longer
    glideFrom(before, this.root);
  }

  close() {
    this.spec = null; // keeps ``embed`` from drawing a specification after this
    this.observer.disconnect();
    leavePart(this.data.key, this);
    this.view?.finalize();
  }
}

function rowsOf(columns, computed = () => null) {
  const names = Object.keys(columns);
  const count = names.length ? columns[names[0]].length : 0;
  return Array.from({ length: count }, (_row, at) =>
    Object.fromEntries(names.map((name) => [name, computed(name, at) ?? columns[name][at]])),
  );
}
