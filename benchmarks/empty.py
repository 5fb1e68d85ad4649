"""The floor of the server's start: an app with nothing in it."""
