// Draws elements of a screen whose styles and texts the page's program can compute: see drawing.py.

export default function ({ data, parentElement }) {
  const draw = (value) => parentElement.replaceChildren(...styles(parentElement), built(presentData(data.drawing, value)));
  joinPart(data.key, data.run, draw);
  draw(() => null);
  return () => parts.delete(data.key);
}

const styles = (parent) => [...parent.children].filter((child) => child.tagName === "STYLE");

function built({ style = {}, parts: inside = [], ...attributes }) {
  const made = element("div", { ...attributes, children: inside.map(built) });
  for (const [name, value] of Object.entries(style)) made.style.setProperty(name, value);
  return made;
}
