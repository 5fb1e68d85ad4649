// What components that make their own elements begin with: an element with its attributes, its text, its children.
function element(kind, { text, children = [], ...attributes } = {}) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}
