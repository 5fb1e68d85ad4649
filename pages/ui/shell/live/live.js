// Computes the page's live numbers in every frame in which a slider moves, and writes the texts that contain them.

const KEPT = 8; // maximum number of cached programs; a reader may return to a page or to a kind of model
const page = (window.bertcalcLive ??= { ahead: null, programs: new Map() });

function showLive(data, setTriggerValue) {
  page.report = (mismatch) => setTriggerValue("mismatch", mismatch);
  page.ask = () => setTriggerValue("lost", true);
  update(data);
}

function update(data) {
  if (!page.listening) listen();
  page.data = data;
  try {
    if (data.operations) keep(data.program, new Program(data.operations));
  } catch (error) {
    console.error(`bertcalc: ${error.message}`);
  }
  page.program = page.programs.get(data.program) ?? null;
  if (!page.program && !data.operations) page.ask(); // the server wrongly assumed that this browser has the program
  if (!page.program) return;
  for (const element of document.querySelectorAll(".without-value")) element.classList.remove("without-value");
  if (page.ahead) write();
  else show();
}

function keep(name, program) {
  page.programs.set(name, program);
  if (page.programs.size > KEPT) page.programs.delete(page.programs.keys().next().value);
}

// Show the server's values.
function show() {
  page.ahead = null;
  if (!page.program) return;
  markOlder(false);
  compute(page.data.sizes);
  compare();
  write();
}

function listen() {
  page.listening = true;
  // The program is not valid at sizes with other formulas (!alike). Then the whole page waits for the server.
  window.addEventListener("bertcalc-sizes", ({ detail: { sizes, alike, drag } }) => {
    document.body.classList.toggle("bertcalc-drag", drag); // charts do not glide during a drag
    if (alike) page.ahead = { ...page.ahead, ...sizes }; // merged: the panel and the page both have sliders
    markOlder(true, !alike);
    page.frame ??= requestAnimationFrame(write);
  });
  window.addEventListener("bertcalc-settled", () => page.ahead && show()); // the server has caught up
  for (const end of ["pointerup", "pointercancel", "keyup"]) {
    window.addEventListener(end, () => document.body.classList.remove("bertcalc-drag"), true);
  }
  // When React redraws a part, it writes the server's text again. While a slider is ahead of the server, undo this.
  const isReacts = ({ target }) => !(target.parentElement ?? target).closest(".stVegaLiteChart, .panel");
  page.observer = new MutationObserver((changes) => {
    if (page.ahead && !page.frame && changes.some(isReacts)) writeTexts();
  });
  page.observer.observe(document.querySelector(".stApp"), { subtree: true, childList: true, characterData: true });
}

// While the sliders are ahead of the server, mark content that is not live as outdated, or the whole page (isWhole).
function markOlder(isOlder, isWhole = false) {
  document.body.classList.toggle("bertcalc-older", isOlder);
  document.body.classList.toggle("bertcalc-older-whole", isWhole);
}

function compute(sizes) {
  page.program.run({ ...page.data.sizes, ...sizes });
}

// Compare Python's texts with the browser's results; a difference is a bug.
function compare() {
  for (const [at, text] of page.data.expected) {
    const computed = page.program.value([at]);
    if (computed === text) continue;
    console.error(`bertcalc: the server wrote ${text}, the browser computes ${computed}`);
    // Report only once. A report causes a run, after which all texts are compared again.
    if (!page.reported) page.report({ text, computed: `${computed}`, sizes: page.data.sizes });
    page.reported = true;
    return;
  }
}

const METRIC = {
  label: "[data-testid=stMetricLabel]",
  value: "[data-testid=stMetricValue]",
  delta: "[data-testid=stMetricDelta]",
};
const ROLES = {
  text: ".live",
  title: "[data-testid=stTable] thead th",
  cell: "[data-testid=stTable] tbody td",
  code: "[data-testid=stCode] code",
  group: "",
  node: "[data-testid=stMarkdownContainer]",
};

function write() {
  page.frame = null;
  if (!page.program) return;
  if (page.ahead) compute(page.ahead);
  writeTexts();
  for (const { run, draw } of parts.values()) if (run === page.data.run) draw((value) => page.program.value(value));
}

function writeTexts() {
  for (const place of page.data.places) {
    const { role, at, value, node } = place;
    if (!place.element?.isConnected) place.element = elementOf(place);
    const { element } = place;
    const text = page.program.value(value);
    element?.classList.toggle("without-value", text === null); // outdated at sizes where its formula is not valid
    if (element && text !== null && role !== "group") writeText(element, text, node);
  }
  page.observer.takeRecords(); // ignore the changes that this function has made
}

function elementOf({ key, role, at }) {
  const inside = `.st-key-${key} ${role in METRIC ? "[data-testid=stMetric]" : ROLES[role]}`;
  const elements = document.querySelectorAll(inside);
  if (elements.length < (page.data.counts[key] ?? 0)) return null; // React is still adding the metrics of this row
  const element = elements[at];
  return role in METRIC ? element?.querySelector(METRIC[role]) : element;
}

// Write the text node at index ``at`` of an element; nodes with only spaces do not count.
function writeText(element, text, at) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let node = walker.nextNode();
  for (let left = at; node && (left || (at && !node.data.trim())); node = walker.nextNode()) {
    if (node.data.trim()) left -= 1;
  }
  if (node && node.data !== text) node.data = text;
}
