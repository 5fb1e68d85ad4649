"""The floor of the server's start: an empty app."""
