// The widget of a notebook: the sizes of its sliders are those of the Python object, too.

export default {
  render({ model, el }) {
    const view = new FormulaView(el, model.get("content"), (sizes) => {
      model.set("sizes", sizes);
      model.save_changes();
    });
    // Otherwise JupyterLab takes the arrow keys as its own shortcuts.
    for (const { input } of view.sliders) input.dataset.lmSuppressShortcuts = "true";
    const follow = () => view.show(model.get("sizes")); // another cell shows the same widget, or Python changes it
    follow();
    model.on("change:sizes", follow);
    return () => model.off("change:sizes", follow);
  },
};
