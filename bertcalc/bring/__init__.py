"""A model that somebody has already: its file of weights, read without its weights, beside the tensors counted here."""
