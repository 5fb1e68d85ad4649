"""The live numbers of a page: read from a model together with their expressions, and sent to a browser as a program."""
