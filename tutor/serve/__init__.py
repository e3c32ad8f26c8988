"""The terminal program in a browser, for one person or for many, each with their own answers."""
