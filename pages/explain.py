"""Why a number that somebody has differs from the right one: the controls and tables of the page."""
