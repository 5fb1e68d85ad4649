// Draws nested boxes, whose styles and texts the page's program can recompute (see __init__.py).

const roots = new WeakMap();

export default function ({ data, parentElement }) {
  if (!roots.has(parentElement)) {
    roots.set(parentElement, element("div", { class: "drawing" }));
    parentElement.append(roots.get(parentElement));
  }
  const draw = (value) => roots.get(parentElement).replaceChildren(built(presentData(data.drawing, value)));
  joinPart(data.key, parentElement, data.run, draw);
  draw(() => null);
  return () => leavePart(data.key, parentElement);
}

function built({ style, parts: inside, ...attributes }) {
  const made = element("div", { ...attributes, children: inside.map(built) });
  for (const [name, value] of Object.entries(style)) made.style.setProperty(name, `${value}`);
  return made;
}
