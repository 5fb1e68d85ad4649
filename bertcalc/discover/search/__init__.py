"""The search for formulas of a transformers class: experiments, fits, conditions."""
