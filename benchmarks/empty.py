"""An empty app, the floor for the server's start."""
