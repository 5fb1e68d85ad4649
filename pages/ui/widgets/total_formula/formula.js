// Draw the parts from formula_parts.py, and show the tooltip of the term or letter that is hovered, tapped or focused.

const drawn = new WeakMap();

export default function ({ data, parentElement }) {
  if (!drawn.has(parentElement)) drawn.set(parentElement, start(parentElement));
  const { draw } = drawn.get(parentElement);
  joinPart(data.key, parentElement, data.run, (value) => draw(presentData(data, value)));
  draw(presentData(data, () => null));
  return () => {
    leavePart(data.key, parentElement);
    drawn.get(parentElement).stop();
    drawn.delete(parentElement);
  };
}

function start(parent) {
  const spoken = element("span", { class: "spoken", role: "math" });
  const formula = element("div", { class: "formula" });
  const tip = element("div", { class: "tip", id: "tip", role: "tooltip", popover: "manual" });
  parent.append(spoken, formula, tip);
  let tips = {};
  let open = null; // the open tooltip: its key, the kind of event that opened it, and its element
  let waiting;

  const withKey = (key) => [...formula.querySelectorAll("[data-key]")].filter((node) => node.dataset.key === key);

  function show(key, by, place) {
    hide();
    open = { key, by, place };
    tip.showPopover();
    write();
  }

  function write() {
    for (const node of withKey(open.key)) {
      node.classList.add("on");
      if (node.tabIndex === 0) node.setAttribute("aria-describedby", tip.id);
    }
    fill(tip, tips[open.key].map((text, at) => [at ? "said" : "title", text]));
    stand();
  }

  function hide() {
    clearTimeout(waiting);
    for (const node of open ? withKey(open.key) : []) {
      node.classList.remove("on");
      node.removeAttribute("aria-describedby");
    }
    if (open) tip.hidePopover();
    open = null;
  }

  // Place the tooltip inside the window and, if possible, above its element, so that it does not cover the chart.
  function stand() {
    const { left, top, bottom } = open.place.getBoundingClientRect();
    const room = (size, all) => all - size - 8;
    const above = top - tip.offsetHeight - 6;
    const y = above < 8 ? Math.min(bottom + 6, room(tip.offsetHeight, innerHeight)) : above;
    tip.style.left = `${Math.max(8, Math.min(left, room(tip.offsetWidth, innerWidth)))}px`;
    tip.style.top = `${Math.max(8, y)}px`;
  }

  const leaveSoon = () => {
    if (open?.by === "hover") waiting = setTimeout(hide, 150); // leaves time to move the pointer onto the tooltip
  };
  const at = (event) => event.target.closest("[data-key]");
  const stopping = new AbortController();
  const on = (target, type, listener) => target.addEventListener(type, listener, { signal: stopping.signal });
  on(formula, "pointerover", (event) => {
    clearTimeout(waiting);
    const over = at(event);
    if (!over) leaveSoon();
    else if (event.pointerType === "mouse" && open?.key !== over.dataset.key) show(over.dataset.key, "hover", over);
  });
  on(formula, "pointerleave", leaveSoon);
  on(tip, "pointerenter", () => clearTimeout(waiting));
  on(tip, "pointerleave", leaveSoon);
  on(formula, "focusin", (event) => show(at(event).dataset.key, "focus", at(event)));
  on(formula, "focusout", () => open?.by === "focus" && hide());
  // After a click, the tooltip stays open even while sliders move.
  on(formula, "click", (event) => {
    const over = at(event);
    if (!over) return;
    if (open?.by === "click" && open.key === over.dataset.key) hide();
    else show(over.dataset.key, "click", over);
  });
  on(formula, "keydown", (event) => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    event.target.click();
  });
  const closes = (event) => event.key === "Escape" && open && (event.preventDefault(), hide());
  document.addEventListener("keydown", closes, { capture: true, signal: stopping.signal });
  on(document, "pointerdown", (event) => {
    const path = event.composedPath();
    const onPage = path.some((node) => ["stMain", "stHeader"].includes(node.dataset?.testid)); // excludes the sliders
    if (onPage && !path.some((node) => node === tip || node.dataset?.key)) hide();
  });
  const follow = () => open && stand();
  document.addEventListener("scroll", follow, { capture: true, passive: true, signal: stopping.signal });
  on(window, "resize", follow);

  return {
    draw(data) {
      tips = data.tips;
      spoken.setAttribute("aria-label", data.label);
      fill(formula, data.lines);
      if (!open) return;
      if (!open.place.isConnected) [open.place] = withKey(open.key);
      if (open.place) write();
      else hide();
    },
    stop() {
      hide();
      stopping.abort();
    },
  };
}

// The identity of a part. A redrawn part with the same identity keeps its node, and thereby the focus.
const kind = (part) => (Array.isArray(part) ? part[0] : `${part.is} ${part.key ?? ""}`);

function fill(parent, parts) {
  parts.forEach((part, at) => {
    const found = [...parent.children].findIndex((child, index) => index >= at && child.kind === kind(part));
    for (let gone = at; gone < found; gone++) parent.children[at].remove();
    if (found < 0) parent.insertBefore(create(part), parent.children[at] ?? null);
    update(parent.children[at], part);
  });
  while (parent.children.length > parts.length) parent.lastElementChild.remove();
}

function create(part) {
  const node = element(part[0] === "power" ? "sup" : "span", { class: Array.isArray(part) ? part[0] : part.is });
  node.kind = kind(part);
  if (Array.isArray(part)) node.ariaHidden = !["title", "said"].includes(part[0]); // screen readers read labels instead
  if (part.key) node.dataset.key = part.key;
  if (part.label) {
    node.tabIndex = 0;
    node.setAttribute("role", "button");
  }
  return node;
}

function update(node, part) {
  if (Array.isArray(part)) {
    if (node.textContent !== part[1]) node.textContent = part[1];
    return;
  }
  if (part.label) node.setAttribute("aria-label", part.label);
  node.style.color = part.color ?? "";
  const braced = part.brace ? [{ is: "braced", parts: part.parts }, ["brace", ""], ["below", part.brace]] : part.parts;
  node.classList.toggle("over", Boolean(part.brace));
  fill(node, braced);
}
