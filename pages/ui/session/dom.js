// Create an element with attributes, text and children. Every component that creates elements begins with this script.
function element(kind, { text, children = [], ...attributes } = {}) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}
