"""The results of a search: formulas, the conditions under which they hold, and how they are written."""
