"""Controls of a model: the stops of a slider, undo and redo."""
