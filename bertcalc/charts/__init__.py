"""Charts built with Altair: functions that prepare data, and functions that return Vega-Lite specifications."""
