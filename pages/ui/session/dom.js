// Make an element with attributes, text and children: the first script of every component that draws itself.
function element(kind, { text, children = [], ...attributes } = {}) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}
