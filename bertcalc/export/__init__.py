"""Taking it away: a model as config.json, as a program that rebuilds it, as tables and as a report."""
