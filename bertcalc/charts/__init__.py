"""Build charts with Altair: data and an appearance in, a Vega-Lite specification out."""
