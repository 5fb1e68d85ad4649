"""Steps that change a model, one after the other: their texts, their effects, and recipes of common steps."""
