"""The floor of the server's start-up time: an empty app."""
