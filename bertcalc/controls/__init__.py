"""Controls of a model: the stops of its sliders, its link, and undo and redo."""
