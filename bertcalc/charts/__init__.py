"""Charts as specifications for Altair: data and an appearance in, Vega-Lite out; who draws them is not known here."""
