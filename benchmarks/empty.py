"""The floor of starting the server: an app with nothing in it."""
