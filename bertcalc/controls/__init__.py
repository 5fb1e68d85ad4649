"""What a control may do to a model: the stops of a slider, undo and redo."""
