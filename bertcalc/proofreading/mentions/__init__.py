"""What a text says about models: their names and their sizes."""
