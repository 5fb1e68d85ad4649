// Show the tooltip of a chart beside the pointer, with a heading and a table of names and values.

const FAR = 10; // the distance from the pointer in pixels

function showTooltip(_handler, event, _item, content) {
  let tip = document.getElementById("vg-tooltip-element");
  if (!tip) {
    tip = element("div", { id: "vg-tooltip-element" });
    (document.fullscreenElement ?? document.body).append(tip);
  }
  const isShown = content !== null && content !== undefined && content !== "";
  tip.classList.toggle("visible", isShown);
  if (!isShown) return;
  tip.replaceChildren(...linesOf(content));
  const { width, height } = tip.getBoundingClientRect();
  const across = [event.clientX + FAR, event.clientX - FAR - width];
  const down = [event.clientY + FAR, event.clientY - FAR - height];
  tip.style.left = `${across.find((x) => x >= 0 && x + width <= innerWidth) ?? across[1]}px`;
  tip.style.top = `${down.find((y) => y >= 0 && y + height <= innerHeight) ?? down[1]}px`;
}

function linesOf(content) {
  if (typeof content !== "object") return [`${content}`];
  const { title, ...values } = content;
  const rows = Object.entries(values).map(([name, value]) =>
    element("tr", { children: [element("td", { class: "key", text: name }), element("td", { class: "value", text: value })] }),
  );
  return [
    ...(title ? [element("h2", { text: title })] : []),
    ...(rows.length ? [element("table", { children: rows })] : []),
  ];
}
