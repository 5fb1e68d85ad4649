// A slider on the page, for a size that the sidebar's model does not have. The panel sends its events to the server.

const sliders = new WeakMap();
const owner = {
  data: { lecture: false },
  move: (...moved) => window.bertcalcPanel?.move(...moved),
  ask: (event) => window.bertcalcPanel?.ask(event),
  waits: (name) => window.bertcalcPanel?.waits(name) ?? false,
  settle: () => window.bertcalcPanel?.settle(),
};

export default function ({ data, parentElement }) {
  let field = sliders.get(parentElement);
  if (!field) {
    sliders.set(parentElement, (field = new Field(owner, data.name)));
    parentElement.append(element("div", { class: "panel", children: [field.root] }));
  }
  field.update(data);
  return () => field.remove();
}
